/// Provisional claims that wait for their confirmation. Several claimants may hold one event.
struct Holds {
    struct Hold {
        let claimant: String
        let latency: Duration?
        /// Armed for the end of the time to confirm.
        let timer: Router.Timers.TimerID
    }

    /// In the order of the claims; never empty.
    private var holds: [EventID: [Hold]] = [:]
    private var byClaimant: [String: SortedIDs] = [:]

    /// Events that are held.
    var count: Int { holds.count }

    /// The claims that hold an event.
    subscript(id: EventID) -> [Hold] { holds[id] ?? [] }

    subscript(id: EventID, claimant: String) -> Hold? { self[id].first { $0.claimant == claimant } }

    func events(heldBy claimant: String) -> SortedIDs { byClaimant[claimant] ?? SortedIDs() }

    mutating func add(_ hold: Hold, of id: EventID) {
        holds[id, default: []].append(hold)
        byClaimant[hold.claimant, default: SortedIDs()].insert(id)
    }

    /// Removes all claims that hold an event.
    mutating func remove(_ id: EventID) {
        for hold in holds.removeValue(forKey: id) ?? [] { remove(id, of: hold.claimant) }
    }

    /// Removes one of them.
    mutating func remove(_ id: EventID, by claimant: String) -> Hold? {
        guard let index = self[id].firstIndex(where: { $0.claimant == claimant }) else { return nil }
        let hold = holds[id]?.remove(at: index)
        if holds[id]?.isEmpty == true { holds[id] = nil }
        remove(id, of: claimant)
        return hold
    }

    private mutating func remove(_ id: EventID, of claimant: String) {
        byClaimant[claimant]?.remove(id)
        if byClaimant[claimant]?.isEmpty == true { byClaimant[claimant] = nil }
    }
}
