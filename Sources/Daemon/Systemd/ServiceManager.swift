internal import CSystemd
import Glibc

/// Notifies the service manager, if there is one; sd_notify(3). It never blocks: while the manager does not read, the
/// newest statement of each kind is queued.
public enum ServiceManager {
    /// Whether a service manager has started this process.
    public static var isThere: Bool { getenv("NOTIFY_SOCKET") != nil }

    /// The manager ignores messages of more than 4096 bytes.
    private static let statusBytes = 1024
    /// Microseconds until a queued statement is sent again.
    private static let pause: Int64 = 200_000
    /// Microseconds that the last statements may take.
    private static let patience: Int64 = 200_000

    /// Only the thread that runs the loop of the program uses these.
    nonisolated(unsafe) private static var socket = getenv("NOTIFY_SOCKET").flatMap {
        NotifySocket(String(cString: $0))
    }
    nonisolated(unsafe) private static var queue = StatementQueue()
    /// Calls `flushAgain` after a pause.
    nonisolated(unsafe) private static var flushLater: () -> Void = {}
    nonisolated(unsafe) private static var isFlushedLater = false
    nonisolated(unsafe) private static var retry: EventSource?
    nonisolated(unsafe) private static var watchdog: EventSource?

    /// Whether the bus has started this process itself, without a service manager.
    public static var isBus: Bool { getenv("DBUS_STARTER_ADDRESS") != nil }

    /// Start-up or reloading is done.
    public static func ready(status: String) { notify(.ready, "READY=1\n\(assignment(ofStatus: status))") }

    public static func reloading() { notify(.reloading, "RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonic())") }

    public static func stopping() { notify(.stopping, "STOPPING=1") }

    /// One line that `systemctl status` shows.
    public static func status(_ text: String) { notify(.status, assignment(ofStatus: text)) }

    /// Pings the watchdog from the loop, if the unit has `WatchdogSec=`, and sends queued statements;
    /// sd_watchdog_enabled(3).
    public static func attach(to loop: EventLoop) throws(SystemdError) {
        retry = try loop.timer(.monotonic, .orders) { flushAgain() }
        flushLater = { retry?.arm(at: Clock.monotonic() + pause) }
        guard let timeout = try watchdogTimeout() else { return }
        let interval = timeout / 2
        watchdog = try loop.timer(.monotonic, .orders) { ping(every: interval) }
        watchdog?.arm(at: Clock.monotonic())
    }

    /// Sends queued statements from the loop of a bridge, on whose thread everything is called then.
    ///
    /// - Parameter perform: does something on that loop after a pause.
    package static func attach(
        _ perform: @escaping (_ pause: Duration, _ work: @escaping @Sendable () -> Void) -> Void
    ) {
        flushLater = { perform(.microseconds(pause)) { flushAgain() } }
    }

    /// Microseconds after which the manager ends a process that does not ping; `nil` if the unit has no `WatchdogSec=`.
    package static func watchdogTimeout() throws(SystemdError) -> Int64? {
        var timeout: UInt64 = 0
        guard try check(sd_watchdog_enabled(0, &timeout), "sd_watchdog_enabled") > 0 else { return nil }
        return Int64(clamping: timeout)
    }

    /// Sends queued statements before the process ends, within a time limit.
    public static func finish() {
        // The loop has ended, and its timers cannot be armed any more.
        (retry, watchdog) = (nil, nil)
        let end = Clock.monotonic() + patience
        flush()
        while !queue.isEmpty, Clock.monotonic() < end {
            poll(nil, 0, 10)
            flush()
        }
    }

    /// The text may come from a file or a program, and every line would be a statement.
    package static func assignment(ofStatus text: String) -> String {
        "STATUS=" + text.asSingleLine.shortened(toBytes: statusBytes)
    }

    package static func pingWatchdog() { notify(.watchdog, "WATCHDOG=1") }

    private static func ping(every interval: Int64) {
        pingWatchdog()
        watchdog?.arm(at: Clock.monotonic() + interval)
    }

    private static func notify(_ kind: StatementQueue.Kind, _ text: String) {
        guard socket != nil else { return }
        queue.put(kind, text)
        flush()
    }

    private static func flush() {
        // The daemon works without a manager.
        queue.flush { socket?.send($0) != .full }
        guard !queue.isEmpty, !isFlushedLater else { return }
        isFlushedLater = true
        flushLater()
    }

    private static func flushAgain() {
        isFlushedLater = false
        flush()
    }
}
