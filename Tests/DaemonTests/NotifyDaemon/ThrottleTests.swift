import Routing
import Testing

@testable import NotifyDaemon

struct ThrottleTests {
    private var throttle = Throttle()
    private var now = Instant(microseconds: 1_000_000)

    /// Calls that a caller with a backlog may make before the next refill.
    private mutating func allowed(atMost count: Int = 1_000) -> Int {
        (0..<count).first { _ in !throttle.allows(":1.1", at: now) } ?? count
    }

    @Test mutating func aBacklogIsLimitedToBurstsWhileAnotherCallerIsActive() {
        throttle.recordCall(by: ":1.2", at: now)
        #expect(allowed() == Throttle.burst)
        #expect(allowed() == 0)
        throttle.refill()
        #expect(allowed() == Throttle.burst)
    }

    @Test mutating func aCallerAloneIsNotLimited() {
        #expect(allowed() == 1_000)
        // It has also called without a backlog.
        throttle.recordCall(by: ":1.1", at: now)
        #expect(allowed() == 1_000)
    }

    @Test mutating func aCallerThatHasNotCalledForAWhileIsNotActive() {
        throttle.recordCall(by: ":1.2", at: now)
        now = now + (Throttle.activityTimeout - .microseconds(1))
        #expect(allowed() == Throttle.burst)
        now = now + .microseconds(1)
        #expect(allowed() == 1_000)
    }

    /// Its own calls, made without a backlog, do not hide those of another caller.
    @Test mutating func theLastTwoCallersAreRemembered() {
        throttle.recordCall(by: ":1.3", at: now)
        throttle.recordCall(by: ":1.2", at: now)
        for _ in 0..<3 { throttle.recordCall(by: ":1.1", at: now) }
        #expect(allowed() == Throttle.burst)
        throttle.refill()
        throttle.recordCall(by: ":1.2", at: now + .milliseconds(500))
        now = now + Throttle.activityTimeout
        #expect(allowed() == Throttle.burst)
    }
}
