internal import CSystemd
import Glibc

/// The daemon's event loop: sd-event(3), used on the main thread only.
///
/// The object that represents a source must be kept; the source ends with it.
public final class EventLoop {
    let raw: OpaquePointer

    public init() throws(SystemdError) {
        var event: OpaquePointer?
        try check(sd_event_new(&event), "sd_event_new")
        raw = event!
    }

    deinit { sd_event_unref(raw) }

    /// Runs until `exit` is called, and returns the code given there.
    public func run() throws(SystemdError) -> CInt { try check(sd_event_loop(raw), "sd_event_loop") }

    public func exit(_ code: CInt) { must(sd_event_exit(raw, code), "sd_event_exit") }

    /// Signals that end a process when a write fails. If they are ignored, the write fails with EPIPE or EFBIG.
    static let failureSignals = [SIGPIPE, SIGXFSZ]

    /// A log without a reader, or a file that reaches `RLIMIT_FSIZE`, must not end the process; signal(7).
    public static func ignoreFailureSignals() {
        for number in failureSignals { Glibc.signal(number, SIG_IGN) }
    }

    /// Blocks signals for this thread and the threads it will start, as sd_event_add_signal(3) requires. Call it
    /// before any thread is started.
    public static func blockSignals(_ signals: [CInt]) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }
}

/// The order in which sources that are ready at the same time are served; sd_event_source_set_priority(3).
public enum Priority: Int64, Sendable {
    /// Sources that a stream of messages must not starve.
    case orders = -20
    /// Everything readable comes before timers.
    case messages = -10
    case timers = 0
    /// Work for when nothing else is ready.
    case idle = 100
}

/// The C callbacks get an unretained pointer to this object: `deinit` removes the source from the loop before the
/// object is freed.
public final class EventSource {
    fileprivate var raw: OpaquePointer?
    fileprivate let action: () -> Void

    fileprivate init(_ action: @escaping () -> Void) { self.action = action }

    deinit { sd_event_source_disable_unref(raw) }

    fileprivate var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// For a source made by `timer`: fires once at this time of its clock, in microseconds. It replaces an earlier
    /// time.
    public func arm(at microseconds: Int64) {
        must(sd_event_source_set_time(raw, UInt64(max(1, microseconds))), "sd_event_source_set_time")
        must(sd_event_source_set_enabled(raw, CInt(SD_EVENT_ONESHOT)), "sd_event_source_set_enabled")
    }

    /// For a source made by `timer`: does not fire any more, until it is armed again.
    public func disarm() { must(sd_event_source_set_enabled(raw, CInt(SD_EVENT_OFF)), "sd_event_source_set_enabled") }

    /// For a source made by `deferred` or `output`: runs once, as soon as its priority lets it.
    public func trigger() {
        must(sd_event_source_set_enabled(raw, CInt(SD_EVENT_ONESHOT)), "sd_event_source_set_enabled")
    }
}

extension EventLoop {
    /// A clock for timers.
    public enum TimerClock {
        case monotonic, boottime
    }

    /// A timer that is not armed yet. Its accuracy is a microsecond; the default of 250 ms is too coarse for windows
    /// of 100 ms.
    public func timer(
        _ clock: TimerClock, _ priority: Priority = .timers, _ action: @escaping () -> Void
    ) throws(SystemdError) -> EventSource {
        let source = EventSource(action)
        let id = clock == .monotonic ? CLOCK_MONOTONIC : CLOCK_BOOTTIME
        try check(sd_event_add_time(raw, &source.raw, id, .max, 1, onTime, source.context), "sd_event_add_time")
        try check(sd_event_source_set_enabled(source.raw, CInt(SD_EVENT_OFF)), "sd_event_source_set_enabled")
        try check(sd_event_source_set_priority(source.raw, priority.rawValue), "sd_event_source_set_priority")
        return source
    }

    /// Runs whenever a descriptor is readable. It stays open as long as the source.
    package func input(_ descriptor: CInt, _ action: @escaping () -> Void) throws(SystemdError) -> EventSource {
        let source = EventSource(action)
        try check(
            sd_event_add_io(raw, &source.raw, descriptor, EPOLLIN.rawValue, onReady, source.context), "sd_event_add_io")
        return source
    }

    /// Runs once when a descriptor is writable; disabled until it is triggered. It stays open as long as the source.
    package func output(_ descriptor: CInt, _ action: @escaping () -> Void) throws(SystemdError) -> EventSource {
        let source = EventSource(action)
        try check(
            sd_event_add_io(raw, &source.raw, descriptor, EPOLLOUT.rawValue, onReady, source.context), "sd_event_add_io"
        )
        try check(sd_event_source_set_enabled(source.raw, CInt(SD_EVENT_OFF)), "sd_event_source_set_enabled")
        return source
    }

    /// Runs whenever something in a directory, or the directory itself, is made, moved or deleted; inotify(7).
    public func directoryChanges(_ path: String, _ action: @escaping () -> Void) throws(SystemdError) -> EventSource {
        try fileEvents(
            UInt32(IN_CREATE | IN_MOVE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR), of: path, action)
    }

    /// Runs whenever a file is opened, as it is by whoever executes it; inotify(7).
    package func openings(of path: String, _ action: @escaping () -> Void) throws(SystemdError) -> EventSource {
        try fileEvents(UInt32(IN_OPEN), of: path, action)
    }

    private func fileEvents(
        _ events: UInt32, of path: String, _ action: @escaping () -> Void
    ) throws(SystemdError) -> EventSource {
        let source = EventSource(action)
        try check(
            sd_event_add_inotify(raw, &source.raw, path, events, onChange, source.context), "sd_event_add_inotify")
        return source
    }

    /// Runs when a process has ended, whoever has started it, and again and again until the source is dropped;
    /// pidfd_open(2).
    package func end(of process: Int32, _ action: @escaping () -> Void) throws(SystemdError) -> EventSource {
        let descriptor = pidfd_open(process, 0)
        guard descriptor >= 0 else { throw SystemdError(code: errno, call: "pidfd_open") }
        do throws(SystemdError) {
            let source = try input(descriptor, action)
            must(sd_event_source_set_io_fd_own(source.raw, 1), "sd_event_source_set_io_fd_own")
            return source
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Work for when nothing else is ready; disabled until it is triggered.
    public func deferred(_ action: @escaping () -> Void) throws(SystemdError) -> EventSource {
        let source = EventSource(action)
        try check(sd_event_add_defer(raw, &source.raw, onEvent, source.context), "sd_event_add_defer")
        try check(sd_event_source_set_enabled(source.raw, CInt(SD_EVENT_OFF)), "sd_event_source_set_enabled")
        try check(sd_event_source_set_priority(source.raw, Priority.idle.rawValue), "sd_event_source_set_priority")
        return source
    }

    /// A signal, which must have been blocked with `blockSignals`.
    public func signal(_ number: CInt, _ action: @escaping () -> Void) throws(SystemdError) -> EventSource {
        let source = EventSource(action)
        try check(sd_event_add_signal(raw, &source.raw, number, onSignal, source.context), "sd_event_add_signal")
        try check(sd_event_source_set_priority(source.raw, Priority.orders.rawValue), "sd_event_source_set_priority")
        return source
    }
}

private func run(_ context: UnsafeMutableRawPointer?) -> CInt {
    Unmanaged<EventSource>.fromOpaque(context!).takeUnretainedValue().action()
    return 0
}

private let onTime: sd_event_time_handler_t = { _, _, context in run(context) }
private let onReady: sd_event_io_handler_t = { _, _, _, context in run(context) }
private let onChange: sd_event_inotify_handler_t = { _, _, context in run(context) }
private let onEvent: sd_event_handler_t = { _, context in run(context) }
private let onSignal: sd_event_signal_handler_t = { _, _, context in run(context) }

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
