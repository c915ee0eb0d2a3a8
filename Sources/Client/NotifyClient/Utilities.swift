internal import CDBus
import Glibc
internal import NotifyText

extension Duration {
    /// From whole microseconds, as in D-Bus messages.
    init(microseconds: UInt64) { self = .microseconds(Int64(clamping: microseconds)) }

    /// Whole nanoseconds.
    var nanoseconds: Int128 { attoseconds / 1_000_000_000 }

    /// Whole units as an argument `u`, rounded up.
    ///
    /// - Throws: `invalidArgument` with this sentence if there are less than 0, or too many.
    func argument(in unit: Duration, _ complaint: String) throws(NotifyError) -> Value {
        guard self >= .zero,
            let number = UInt32(exactly: (nanoseconds + unit.nanoseconds - 1) / unit.nanoseconds)
        else { throw NotifyError(.invalidArgument, complaint) }
        return .uint32(number)
    }
}

/// A value that is protected by a mutex.
///
/// It is a pthread mutex, because ThreadSanitizer does not understand `Synchronization.Mutex` on Linux and reports a
/// race whenever two threads contend for one.
package final class Locked<State: Sendable>: @unchecked Sendable {
    // Proof: `state` is accessed only while `mutex` is held, and `mutex` is constant.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var state: State

    package init(_ state: State) {
        self.state = state
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(_ body: (inout State) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}

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
