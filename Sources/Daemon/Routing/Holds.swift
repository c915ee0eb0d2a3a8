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

    /// Claims that hold.
    private(set) var count = 0

    /// The claims that hold an event.
    subscript(id: EventID) -> [Hold] { holds[id] ?? [] }

    subscript(id: EventID, claimant: String) -> Hold? { self[id].first { $0.claimant == claimant } }

    func events(heldBy claimant: String) -> SortedIDs { byClaimant[claimant] ?? SortedIDs() }

    mutating func add(_ hold: Hold, of id: EventID, in owners: inout Owners) {
        count += 1
        owners.add(Owners.Share(holds: 1), of: .connection(hold.claimant))
        holds[id, default: []].append(hold)
        byClaimant[hold.claimant, default: SortedIDs()].insert(id)
    }

    /// Removes all claims that hold an event.
    mutating func remove(_ id: EventID, in owners: inout Owners) {
        for hold in holds.removeValue(forKey: id) ?? [] { remove(id, of: hold.claimant, in: &owners) }
    }

    /// Removes one of them.
    mutating func remove(_ id: EventID, by claimant: String, in owners: inout Owners) -> Hold? {
        guard let index = self[id].firstIndex(where: { $0.claimant == claimant }) else { return nil }
        let hold = holds[id]?.remove(at: index)
        if holds[id]?.isEmpty == true { holds[id] = nil }
        remove(id, of: claimant, in: &owners)
        return hold
    }

    private mutating func remove(_ id: EventID, of claimant: String, in owners: inout Owners) {
        count -= 1
        owners.remove(Owners.Share(holds: 1), of: .connection(claimant))
        byClaimant[claimant]?.remove(id)
        if byClaimant[claimant]?.isEmpty == true { byClaimant[claimant] = nil }
    }
}
