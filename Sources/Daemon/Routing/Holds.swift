/// Provisional claims that wait for their confirmation.
struct Holds {
    struct Hold {
        let claimant: String
        let latency: Duration?
        /// Armed for the end of the time to confirm.
        let timer: Router.Timers.TimerID
    }

    private var holds: [EventID: Hold] = [:]
    private var byClaimant: [String: SortedIDs] = [:]

    var count: Int { holds.count }

    subscript(id: EventID) -> Hold? { holds[id] }

    func events(heldBy claimant: String) -> SortedIDs { byClaimant[claimant] ?? SortedIDs() }

    mutating func add(_ hold: Hold, of id: EventID) {
        holds[id] = hold
        byClaimant[hold.claimant, default: SortedIDs()].insert(id)
    }

    @discardableResult
    mutating func remove(_ id: EventID) -> Hold? {
        guard let hold = holds.removeValue(forKey: id) else { return nil }
        byClaimant[hold.claimant]?.remove(id)
        if byClaimant[hold.claimant]?.isEmpty == true { byClaimant[hold.claimant] = nil }
        return hold
    }
}
