import NotifyClient

/// A clock whose time passes only by sleeping.
final class VirtualClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var time: Duration

        func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
        func duration(to other: Instant) -> Duration { other.time - time }
        static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
    }

    private let state = Locked((now: Instant(time: .zero), slept: [Duration]()))

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }
    /// Each sleep so far.
    var slept: [Duration] { state.withLock { $0.slept } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        state.withLock { state in
            state.slept.append(deadline.time - state.now.time)
            state.now = max(state.now, deadline)
        }
    }
}
