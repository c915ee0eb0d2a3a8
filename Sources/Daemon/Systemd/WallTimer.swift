internal import CSystemd
import Glibc

/// A timer on CLOCK_REALTIME that also fires when this clock is set, and after the machine has slept; timerfd_create(2)
/// with TFD_TIMER_CANCEL_ON_SET. sd-event(3) has no such timer.
public final class WallTimer {
    private let descriptor: CInt
    private var source: EventSource?

    /// - Parameter action: called when the time has come or the clock was set. The timer is not armed any more.
    public init(on loop: EventLoop, _ action: @escaping () -> Void) throws(SystemdError) {
        descriptor = timerfd_create(CLOCK_REALTIME, CInt(TFD_NONBLOCK | TFD_CLOEXEC))
        try check(descriptor < 0 ? -errno : descriptor, "timerfd_create")
        source = try loop.input(descriptor) { [unowned self] in
            disarm()
            action()
        }
    }

    deinit {
        source = nil
        close(descriptor)
    }

    /// - Parameter moment: microseconds since the epoch. It replaces an earlier time.
    public func arm(at moment: Int64) {
        let moment = max(1, moment)
        let wasClockSet = set(seconds: moment / 1_000_000, nanoseconds: moment % 1_000_000 * 1000)
        // The caller may not know of it yet, so the timer fires at once.
        if wasClockSet { set(seconds: 0, nanoseconds: 1) }
    }

    public func disarm() { set(seconds: 0, nanoseconds: 0) }

    /// Zero disarms it. The descriptor is not readable any more, until the time has come or the clock is set.
    ///
    /// - Returns: whether the clock was set since the last call; timerfd_settime(2), ECANCELED.
    @discardableResult
    private func set(seconds: Int64, nanoseconds: Int64) -> Bool {
        var value = itimerspec()
        value.it_value = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
        let flags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET
        let result = timerfd_settime(descriptor, CInt(flags), &value, nil)
        precondition(result == 0 || errno == ECANCELED, "timerfd_settime fails only for bad arguments")
        return result != 0
    }
}
