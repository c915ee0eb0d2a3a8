import Routing

/// Limits the publishes of a caller with a long backlog while others call. Replies to all callers share one queue to the bus,
/// and the bus needs longer for a reply than the daemon does.
///
/// A bucket of a few calls is refilled at intervals. A caller that calls alone is not limited.
struct Throttle {
    /// Queued publishes of one caller above which it is limited. A caller that waits for replies never has so many.
    static let backlogThreshold = 256
    static let burst = 8
    static let interval: Duration = .milliseconds(2)
    /// How long after its last call a caller counts as active.
    static let activityTimeout: Duration = .seconds(1)

    /// The two most recent callers, the latest first.
    private var callers: [(name: String, at: Instant)] = []
    private var callsLeft = burst

    /// Records a call of a caller without a backlog.
    mutating func recordCall(by caller: String, at now: Instant) {
        if callers.first?.name == caller {
            callers[0].at = now
        } else {
            callers.insert((caller, now), at: 0)
            if callers.count > 2 { callers.removeLast() }
        }
    }

    /// Whether a call of this caller, which has a backlog, may be handled before the next `refill`.
    mutating func allows(_ caller: String, at now: Instant) -> Bool {
        let isAlone = !callers.contains { $0.name != caller && now < $0.at + Self.activityTimeout }
        if isAlone { return true }
        guard callsLeft > 0 else { return false }
        callsLeft -= 1
        return true
    }

    mutating func refill() {
        callsLeft = Self.burst
    }
}
