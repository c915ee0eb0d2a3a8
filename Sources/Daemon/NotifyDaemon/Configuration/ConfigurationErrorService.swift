import Glibc
import Systemd
import TOMLTables

/// Replies to every call with the mistakes of a bad configuration.
///
/// systemd does not report a failed unit to the bus, so a call that starts a unit which exits at once waits for its
/// timeout. The daemon therefore takes its name, replies, and then exits. It stays long enough that calls alone cannot
/// exceed the unit's `StartLimitBurst=`. If the files are corrected meanwhile, the daemon starts.
final class ConfigurationErrorService: BusPumpDelegate {
    /// An error name of the D-Bus reference implementation.
    static let errorName = "org.freedesktop.DBus.Error.InvalidFileContent"
    /// Without calls, `systemctl start` fails after this time.
    private static let stayWithoutCalls: Int64 = 500_000
    /// 6 starts a minute; the unit allows 10.
    private static let stayAfterCalls: Int64 = 10_000_000
    private static let pollInterval: Int64 = 200_000
    /// Files are read once they have not changed for this time, because many programs truncate a file before they
    /// write it.
    private static let settleTime: Int64 = 100_000

    private let load: () throws(ConfigurationError) -> Configuration
    private let fingerprint: () -> ConfigurationFiles.Fingerprint
    private let bus: BusConnection
    private let loop: EventLoop
    private let start = Clock.monotonic()
    private var seen: ConfigurationFiles.Fingerprint
    private var error: ConfigurationError
    private var hasAnswered = false
    private var corrected: Configuration?
    /// The changed files, and since when; calls wait until they are read.
    private var change: (files: ConfigurationFiles.Fingerprint, since: Int64)?
    private var timer: EventSource?

    /// - Parameters:
    ///   - file: the file that is read instead of all others.
    ///   - seen: the state of the files when they were read.
    ///   - bus: a connection that owns the name and is not attached to a loop.
    init(
        _ error: ConfigurationError, in file: String?, as seen: ConfigurationFiles.Fingerprint, on bus: BusConnection
    ) throws(SystemdError) {
        self.error = error
        self.seen = seen
        self.bus = bus
        load = { () throws(ConfigurationError) in try ConfigurationFiles.load(only: file) }
        fingerprint = { ConfigurationFiles.fingerprint(only: file) }
        loop = try EventLoop()
    }

    /// Replies until the time is over, the process is told to stop, or the configuration is good.
    ///
    /// - Returns: the good configuration. Calls after the correction are not read yet.
    func run() throws(SystemdError) -> Configuration? {
        var sources: [EventSource] = []
        for signal in [SIGTERM, SIGINT] {
            sources.append(try loop.signal(signal) { [self] in loop.exit(0) })
        }
        sources.append(try loop.signal(SIGHUP) { [self] in reload() })
        let slots = [
            try bus.onDisconnect { [self] in loop.exit(0) },
            bus.filterCalls { [self] call in answer(call) },
        ]
        timer = try loop.timer(.monotonic) { [self] in poll() }
        defer { timer = nil }
        timer?.arm(at: start + Self.pollInterval)
        try bus.attach(to: loop, delegate: self)
        ServiceManager.status("The configuration is bad: \(error.summary)")
        return try withExtendedLifetime((sources, slots)) { () throws(SystemdError) in
            _ = try loop.run()
            return corrected
        }
    }

    /// Once the configuration is good, calls are left for the daemon to read.
    var canRead: Bool {
        reload()
        return corrected == nil && change == nil
    }

    func handleBatch() -> Bool { false }

    private func answer(_ call: borrowing BusMessage) {
        hasAnswered = true
        let text = "notifyd does not start, its configuration is bad:\n\(error)"
        // A connection that is gone ends the loop by `onDisconnect`.
        try? bus.send(bus.methodError(to: call, BusFailure(name: Self.errorName, text: text)))
    }

    private func poll() {
        reload()
        let now = Clock.monotonic()
        let end = start + (hasAnswered ? Self.stayAfterCalls : Self.stayWithoutCalls)
        if change == nil, now >= end { return loop.exit(0) }
        timer?.arm(at: change.map { $0.since + Self.settleTime } ?? min(now + Self.pollInterval, end))
    }

    private func reload() {
        let current = fingerprint()
        guard corrected == nil, current != seen else {
            change = nil
            return
        }
        let now = Clock.monotonic()
        guard let change, change.files == current else {
            change = (current, now)
            timer?.arm(at: now + Self.settleTime)
            return
        }
        guard now >= change.since + Self.settleTime else { return }
        self.change = nil
        seen = current
        do throws(ConfigurationError) {
            corrected = try load()
            loop.exit(0)
        } catch {
            self.error = error
        }
    }
}
