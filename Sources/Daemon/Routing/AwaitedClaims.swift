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
    private struct Entry {
        var awaited: AwaitedClaim
        var timer: Router.LifetimeTimers.TimerID
        /// The connection whose limit it counts for. A restored claim counts for nobody: its connection may be gone.
        let owner: String?
    }

    private var entries: [EventName: Entry] = [:]
    private(set) var countByClaimant: [String: Int] = [:]
    /// Claims whose events have come since the last `stored`, in case those cannot be stored.
    private var taken: [(entry: Entry, event: EventID)] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    var hasTaken: Bool { !taken.isEmpty }
    var all: [AwaitedClaim] { entries.values.map(\.awaited) }

    subscript(name: EventName) -> AwaitedClaim? { entries[name]?.awaited }

    func timer(of name: EventName) -> Router.LifetimeTimers.TimerID? { entries[name]?.timer }

    /// - Parameter isRestored: whether an earlier run accepted it.
    mutating func insert(_ awaited: AwaitedClaim, _ timer: Router.LifetimeTimers.TimerID, isRestored: Bool = false) {
        let owner = isRestored ? nil : awaited.claim.claimant
        insert(Entry(awaited: awaited, timer: timer, owner: owner))
    }

    private mutating func insert(_ entry: Entry) {
        guard entries.updateValue(entry, forKey: entry.awaited.claim.name) == nil, let owner = entry.owner else {
            return
        }
        countByClaimant[owner, default: 0] += 1
    }

    /// Changes a claim, which still counts for the same connection.
    mutating func update(_ awaited: AwaitedClaim, _ timer: Router.LifetimeTimers.TimerID) {
        entries[awaited.claim.name]?.awaited = awaited
        entries[awaited.claim.name]?.timer = timer
    }

    mutating func remove(_ name: EventName) -> AwaitedClaim? {
        removeEntry(name)?.awaited
    }

    /// Removes the claim of an event that has come.
    mutating func take(_ name: EventName, for event: EventID) {
        if let entry = removeEntry(name) { taken.append((entry, event)) }
    }

    private mutating func removeEntry(_ name: EventName) -> Entry? {
        guard let entry = entries.removeValue(forKey: name) else { return nil }
        if let owner = entry.owner, let count = countByClaimant[owner] {
            countByClaimant[owner] = count > 1 ? count - 1 : nil
        }
        return entry
    }

    /// The events that have come are stored.
    mutating func stored() {
        taken = []
    }

    /// Puts back the claims of events that could not be stored. A timer that fired meanwhile is due again.
    ///
    /// - Returns: the names of these claims.
    mutating func putBack(_ unstored: Set<EventID>) -> [EventName] {
        let back = taken.filter { unstored.contains($0.event) }.map(\.entry)
        taken = []
        for entry in back where entries[entry.awaited.claim.name] == nil { insert(entry) }
        return back.map(\.awaited.claim.name)
    }
}
