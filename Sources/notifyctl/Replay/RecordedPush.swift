/// What is known of one event and the claims on it, as far as it matters for what another window would have done.
struct RecordedPush: Hashable, Sendable {
    struct Claim: Hashable, Sendable {
        let by: String
        /// From publishing to the claim.
        let after: Duration
        /// Whether there was something to suppress or to take back.
        let isOfUse: Bool
        /// Whether it answered the event, so that its time says how long a window must be.
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
    /// As recorded; empty while undecided.
    let outcome: String
    let claims: [Claim]

    /// Whether a window had anything to do with what became of it.
    var wasAwaited: Bool { ["claimed", "shown", "retracted", "dismissed"].contains(outcome) }

    /// From publishing to the claim that counted.
    var latency: Duration? { claims.filter(\.isOfUse).map(\.after).min() }

    /// The same for the claim that answered the event; `nil` where only a screen that was opened later cleared it away.
    var answerLatency: Duration? { claims.filter { $0.isOfUse && $0.isAnswer }.map(\.after).min() }
}
