/// A claim of an event that has not come yet.
public struct AwaitedClaim: Equatable, Sendable {
    /// The claim itself.
    public var claim: NamedClaim
    /// Until when the event is awaited.
    public var expires: Uptime

    public init(_ claim: NamedClaim, until expires: Uptime) {
        self.claim = claim
        self.expires = expires
    }
}

/// The claims of events that have not come yet, by name.
struct AwaitedClaims {
    /// A class, so that the spare capacity of the table takes little memory.
    private final class Entry {
        var awaited: AwaitedClaim
        var timer: Router.LifetimeTimers.TimerID
        /// Whose limit it counts for.
        let owner: Owner
        var bytes: Int

        init(_ awaited: AwaitedClaim, _ timer: Router.LifetimeTimers.TimerID, of owner: Owner) {
            self.awaited = awaited
            self.timer = timer
            self.owner = owner
            bytes = awaited.claim.memoryCost
        }

        var share: Owners.Share { Owners.Share(awaited: Owners.Usage(count: 1, bytes: bytes)) }
    }

    private var entries: [EventName: Entry] = [:]
    /// The memory cost of all.
    private(set) var bytes = 0
    /// Claims whose events have come since the last `stored`, in case those cannot be stored.
    private var taken: [(entry: Entry, event: EventID)] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    var hasTaken: Bool { !taken.isEmpty }
    var all: [AwaitedClaim] { entries.values.map(\.awaited) }

    subscript(name: EventName) -> AwaitedClaim? { entries[name]?.awaited }

    func timer(of name: EventName) -> Router.LifetimeTimers.TimerID? { entries[name]?.timer }

    mutating func insert(
        _ awaited: AwaitedClaim, _ timer: Router.LifetimeTimers.TimerID, of owner: Owner, in owners: inout Owners
    ) {
        insert(Entry(awaited, timer, of: owner), &owners)
    }

    private mutating func insert(_ entry: Entry, _ owners: inout Owners) {
        guard entries.updateValue(entry, forKey: entry.awaited.claim.name) == nil else { return }
        bytes += entry.bytes
        owners.add(entry.share, of: entry.owner)
    }

    /// Changes a claim, which still counts for the same owner.
    mutating func update(
        _ awaited: AwaitedClaim, _ timer: Router.LifetimeTimers.TimerID, in owners: inout Owners
    ) {
        guard let entry = entries[awaited.claim.name] else { return }
        let changed = Entry(awaited, timer, of: entry.owner)
        bytes += changed.bytes - entry.bytes
        entries[awaited.claim.name] = changed
        owners.add(changed.share, of: entry.owner)
        owners.remove(entry.share, of: entry.owner)
    }

    mutating func remove(_ name: EventName, in owners: inout Owners) -> AwaitedClaim? {
        removeEntry(name, &owners)?.awaited
    }

    mutating func removeAll(in owners: inout Owners) {
        for entry in entries.values { owners.remove(entry.share, of: entry.owner) }
        (entries, bytes) = ([:], 0)
    }

    /// Removes the claim of an event that has come.
    mutating func take(_ name: EventName, for event: EventID, in owners: inout Owners) {
        if let entry = removeEntry(name, &owners) { taken.append((entry, event)) }
    }

    private mutating func removeEntry(_ name: EventName, _ owners: inout Owners) -> Entry? {
        guard let entry = entries.removeValue(forKey: name) else { return nil }
        bytes -= entry.bytes
        owners.remove(entry.share, of: entry.owner)
        return entry
    }

    /// The events that have come are stored.
    mutating func stored() {
        taken = []
    }

    /// Puts back the claims of events that could not be stored. A timer that fired meanwhile is due again.
    ///
    /// - Returns: the names of these claims.
    mutating func putBack(_ unstored: Set<EventID>, in owners: inout Owners) -> [EventName] {
        let back = taken.filter { unstored.contains($0.event) }.map(\.entry)
        taken = []
        for entry in back where entries[entry.awaited.claim.name] == nil { insert(entry, &owners) }
        return back.map(\.awaited.claim.name)
    }

    // MARK: Owners

    /// Notes the program of a connection with its claims.
    func note(_ program: String, of connection: String) {
        for entry in entries.values where entry.owner == .connection(connection) {
            entry.awaited.claim.program = program
        }
    }

    /// Makes room for another claim. The owner that has most loses those that would end first, a sixteenth at a time,
    /// because each time all claims are looked through.
    ///
    /// - Returns: the lost claims.
    mutating func makeRoom(for added: Int, limits: Limits, in owners: inout Owners) -> [AwaitedClaim] {
        var lost: [AwaitedClaim] = []
        while count >= limits.awaited || bytes + added > limits.awaitedBytes, let owner = largest(owners) {
            let own = entries.values.filter { owners.current($0.owner) == owner }.map(\.awaited).sorted { left, right in
                left.expires == right.expires
                    ? left.claim.origin.precedes(right.claim.origin) : left.expires < right.expires
            }
            for awaited in own.prefix(max(1, own.count / 16)) {
                lost.append(awaited)
                _ = removeEntry(awaited.claim.name, &owners)
            }
        }
        return lost
    }

    private func largest(_ owners: Owners) -> Owner? {
        owners.shares.filter { $0.value.awaited.count > 0 }.max { left, right in
            left.value.awaited.bytes == right.value.awaited.bytes
                ? right.key.precedes(left.key) : left.value.awaited.bytes < right.value.awaited.bytes
        }?.key
    }
}

extension Origin {
    /// The byte order of global names.
    func precedes(_ other: Origin) -> Bool {
        func texts(_ origin: Origin) -> [[UInt8]] {
            [Array((origin.source ?? "").utf8), Array((origin.eventID ?? "").utf8)]
        }
        let (mine, others) = (texts(self), texts(other))
        return mine[0] == others[0]
            ? mine[1].lexicographicallyPrecedes(others[1]) : mine[0].lexicographicallyPrecedes(others[0])
    }
}
