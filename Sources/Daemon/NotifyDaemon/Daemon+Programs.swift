import Journal
import Routing

/// Programs of connections. Their names are stored with claims if known, or added later; their limits are the router's.
extension Daemon {
    /// - Returns: the program name of an event's claimant. If it is not known yet, it is stored later.
    func program(of claimant: String?, claiming id: EventID) -> String? {
        guard let claimant else { return nil }
        switch host.lookUpProgram(of: claimant) {
        case .named(let program): return program
        case .none: return nil
        case .requested:
            unnamedClaims.note(id, by: claimant)
            return nil
        }
    }

    /// The name of a connection's program is known, or cannot be found out.
    func programIdentified(_ program: String?, of claimant: String, hasLeft: Bool) {
        handle(.identified(claimant, as: program, hasLeft: hasLeft))
        let ids = unnamedClaims.take(claimant)
        guard let program, !ids.isEmpty else { return }
        for id in ids {
            storage.append(.named(claimant, program, id))
            if storage.isTurnLong { storage.commitEarly() }
        }
        host.endTurnWhenIdle()
    }
}

/// Events claimed by connections whose programs are not known yet.
struct UnnamedClaims {
    /// Events in all. The bus replies within about a millisecond, and each event costs a write.
    static let limit = 512

    private var events: [String: [EventID]] = [:]
    private var count = 0

    /// Events above the limit get no name.
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
