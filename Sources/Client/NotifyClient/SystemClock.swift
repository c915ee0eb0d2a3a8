internal import CDBus
import Glibc

/// Clocks of clock_gettime(2), for programs other than the daemon.
package enum SystemClock {
    /// The clock of ``Event/published`` and of the times in an ``Explanation``, in microseconds since
    /// 1970-01-01 00:00 UTC.
    package static var wall: Int64 { notify_clock(CLOCK_REALTIME) }

    /// Processor time that a process has used so far; `nil` where there is no such process: clock_getcpuclockid(3).
    package static func processorTime(of process: Int32) -> Duration? {
        var clock = clockid_t()
        guard clock_getcpuclockid(process, &clock) == 0 else { return nil }
        let microseconds = notify_clock(clock)
        return microseconds < 0 ? nil : .microseconds(microseconds)
    }
}
