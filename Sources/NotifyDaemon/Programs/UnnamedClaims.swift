import Routing

/// Events that were claimed by connections of which it is not known yet what program they are.
struct UnnamedClaims {
    /// How many are kept in all. The answer of the bus takes a millisecond, and each of these costs a write.
    static let limit = 512

    private var events: [String: [EventID]] = [:]
    private var count = 0

    /// What is too much stays unnamed.
    mutating func note(_ id: EventID, by claimant: String) {
        guard count < Self.limit, events[claimant]?.last != id else { return }
        events[claimant, default: []].append(id)
        count += 1
    }

    mutating func take(_ claimant: String) -> [EventID] {
        let ids = events.removeValue(forKey: claimant) ?? []
        count -= ids.count
        return ids
    }
}
