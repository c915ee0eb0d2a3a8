import DequeModule
public import NotifyText

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
        var timer: Router.Timers.LifetimeID
        /// Whose limit it counts for.
        let owner: Owner
        var bytes: Int

        init(_ awaited: AwaitedClaim, _ timer: Router.Timers.LifetimeID, of owner: Owner) {
            self.awaited = awaited
            self.timer = timer
            self.owner = owner
            bytes = awaited.claim.memoryCost
        }
    }

    private var entries: [EventName: Entry] = [:]
    /// Whose they are, and their memory cost.
    private(set) var owners = Owners()
    /// Claims whose events have come since the last `stored`, in case those cannot be stored.
    private var taken: [(entry: Entry, event: EventID)] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    /// The memory cost of all.
    var bytes: Int { owners.total.bytes }
    var hasTaken: Bool { !taken.isEmpty }
    var all: [AwaitedClaim] { entries.values.map(\.awaited) }

    subscript(name: EventName) -> AwaitedClaim? { entries[name]?.awaited }

    func timer(of name: EventName) -> Router.Timers.LifetimeID? { entries[name]?.timer }

    mutating func insert(_ awaited: AwaitedClaim, _ timer: Router.Timers.LifetimeID, of owner: Owner) {
        insert(Entry(awaited, timer, of: owner))
    }

    private mutating func insert(_ entry: Entry) {
        guard entries.updateValue(entry, forKey: entry.awaited.claim.name) == nil else { return }
        owners.add(bytes: entry.bytes, of: entry.owner)
    }

    /// Changes a claim, which still counts for the same owner.
    mutating func update(_ awaited: AwaitedClaim, _ timer: Router.Timers.LifetimeID) {
        guard let entry = entries[awaited.claim.name] else { return }
        let changed = Entry(awaited, timer, of: entry.owner)
        entries[awaited.claim.name] = changed
        owners.add(bytes: changed.bytes, of: entry.owner)
        owners.remove(bytes: entry.bytes, of: entry.owner)
    }

    mutating func remove(_ name: EventName) -> AwaitedClaim? { removeEntry(name)?.awaited }

    mutating func removeAll() {
        for name in entries.keys { _ = removeEntry(name) }
    }

    /// Removes the claim of an event that has come.
    mutating func fulfill(_ name: EventName, by event: EventID) {
        if let entry = removeEntry(name) { taken.append((entry, event)) }
    }

    private mutating func removeEntry(_ name: EventName) -> Entry? {
        guard let entry = entries.removeValue(forKey: name) else { return nil }
        owners.remove(bytes: entry.bytes, of: entry.owner)
        return entry
    }

    /// The events that have come are stored.
    mutating func stored() { taken = [] }

    /// Puts back the claims of events that could not be stored. A timer that fired meanwhile is due again.
    ///
    /// - Returns: the names of these claims.
    mutating func putBack(_ unstored: Set<EventID>) -> [EventName] {
        let back = taken.filter { unstored.contains($0.event) }.map(\.entry)
        taken = []
        for entry in back where entries[entry.awaited.claim.name] == nil { insert(entry) }
        return back.map(\.awaited.claim.name)
    }

    // MARK: Owners

    /// The program of a connection is noted with its claims. They are not written again for that.
    mutating func learn(_ news: PeerNews, of connection: String) {
        let hasClaims = owners.shares[.connection(connection)] != nil
        owners.learn(news, of: connection)
        guard hasClaims, case .identified(let program?, _) = news else { return }
        for entry in entries.values where entry.owner == .connection(connection) {
            entry.awaited.claim.program = program
        }
    }

    /// Makes room for another claim. The owner that has most loses those that would end first, a sixteenth at a time,
    /// because each time all claims are looked through.
    ///
    /// - Returns: the lost claims.
    mutating func makeRoom(for added: Int, limits: Limits) -> [AwaitedClaim] {
        var lost: [AwaitedClaim] = []
        while count >= limits.awaited || bytes + added > limits.awaitedBytes, let owner = largest {
            let own = entries.values.filter { owners.current($0.owner) == owner }.map(\.awaited).sorted { left, right in
                left.expires == right.expires
                    ? left.claim.origin.precedes(right.claim.origin) : left.expires < right.expires
            }
            for awaited in own.prefix(max(1, own.count / 16)) {
                lost.append(awaited)
                _ = removeEntry(awaited.claim.name)
            }
        }
        return lost
    }

    private var largest: Owner? {
        owners.shares.max { left, right in
            left.value.bytes == right.value.bytes ? right.key.precedes(left.key) : left.value.bytes < right.value.bytes
        }?.key
    }
}

extension Origin {
    /// The byte order of global names.
    func precedes(_ other: Origin) -> Bool {
        let mine = ((source ?? "").bytes, (eventID ?? "").bytes)
        return mine < ((other.source ?? "").bytes, (other.eventID ?? "").bytes)
    }
}

/// Recognises duplicates: maps a global id, the pair of source and event-id, to the event that it was first accepted
/// as.
struct Deduplicator {
    private let capacity: Int
    private let byteCapacity: Int
    private let retention: Duration
    private var events: [Origin: EventID] = [:]
    private var order = Deque<(origin: Origin, expires: Uptime)>()
    /// The memory cost of all entries.
    private(set) var bytes = 0

    init(capacity: Int, byteCapacity: Int = .max, retention: Duration) {
        self.capacity = capacity
        self.byteCapacity = byteCapacity
        self.retention = retention
    }

    var count: Int { events.count }

    /// The event that was accepted under this global id; `nil` where there is none or its entry has expired.
    mutating func original(of origin: Origin, at now: Uptime) -> EventID? {
        guard origin.isGlobalID else { return nil }
        removeExpired(at: now)
        return events[origin]
    }

    /// The event that was surely accepted under this global id.
    func known(_ origin: Origin, at now: Uptime) -> EventID? {
        guard let oldest = order.first, oldest.expires > now else { return nil }
        return events[origin]
    }

    /// - Parameter left: what is left of the retention time, for an event of an earlier run.
    mutating func record(_ origin: Origin, as id: EventID, at now: Uptime, left: Duration? = nil) {
        guard origin.isGlobalID else { return }
        removeExpired(at: now)
        bytes += MemoryCost.globalID + origin.textBytes
        while !order.isEmpty, order.count >= capacity || bytes > byteCapacity { removeOldest() }
        events[origin] = id
        order.append((origin, now + (left ?? retention)))
    }

    /// Removes the entries of events that could not be stored.
    mutating func remove(_ ids: [EventID]) {
        let unstored = Set(ids)
        order.removeAll { entry in
            guard let id = events[entry.origin], unstored.contains(id) else { return false }
            events[entry.origin] = nil
            bytes -= MemoryCost.globalID + entry.origin.textBytes
            return true
        }
    }

    private mutating func removeExpired(at now: Uptime) {
        while let oldest = order.first, oldest.expires <= now { removeOldest() }
    }

    private mutating func removeOldest() {
        let oldest = order.removeFirst()
        events[oldest.origin] = nil
        bytes -= MemoryCost.globalID + oldest.origin.textBytes
    }
}
