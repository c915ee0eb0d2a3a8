import Routing

/// A recorded event and its claims, with the data that a replay needs.
struct ReplayEvent: Hashable, Sendable {
    struct Claim: Hashable, Sendable {
        let by: String
        /// From publishing to the claim.
        let after: Duration
        /// Whether the claim changed a banner or the outcome.
        let isOfUse: Bool
        /// Whether it answered the event, so that its latency says how long a window must be.
        let isAnswer: Bool
    }

    let id: UInt64
    let topic: String
    let route: String
    let key: String
    let sender: String
    /// Microseconds since the epoch.
    let time: Int64
    let window: Duration
    /// Whether its window had been opened by an earlier event, so that `max_window` may have cut it short.
    var hasJoined = false
    /// Empty if undecided.
    let outcome: String
    let claims: [Claim]

    /// Whether the window affected the outcome.
    var wasAwaited: Bool { ["claimed", "shown", "retracted", "dismissed"].contains(outcome) }

    /// Whether the window affects the outcome with other routes: a muted event takes part if its route breaks through.
    func isAwaited(by routes: RouteTable?) throws -> Bool {
        guard outcome == "muted", let routes else { return wasAwaited }
        return routes.route(for: try Topic(topic)).breaksThrough
    }

    /// The window that its publisher set, as far as the record tells: the one that it had, if that is not the window of
    /// its route. A route that waits for screens only may have closed a window of 0 at once, so that 0 says nothing.
    ///
    /// - Parameter routes: the configuration under which it was recorded.
    func publishersWindow(under routes: RouteTable) throws -> Duration? {
        let ofRoute = routes.route(named: route, for: try Topic(topic)).window
        if window == .zero || window == ofRoute || hasJoined && window < ofRoute { return nil }
        return window
    }

    /// From publishing to the claim that counted.
    var latency: Duration? { claims.filter(\.isOfUse).map(\.after).min() }

    /// The same for the claim that answered the event; `nil` if it was claimed only later, by a screen or by hand.
    var answerLatency: Duration? { claims.filter { $0.isOfUse && $0.isAnswer }.map(\.after).min() }
}
