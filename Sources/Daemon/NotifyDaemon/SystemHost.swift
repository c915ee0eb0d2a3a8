import Glibc
import Journal
import Logging
import Routing
import Systemd
import TOMLTables

/// The real host: clocks and timers of the loop, the session bus, the user's session and other processes.
final class SystemHost: Host {
    /// What the host reports.
    enum Report {
        /// The loop is idle, and `endTurnWhenIdle` was called.
        case turnIsOver
        /// A window or a lifetime may have ended.
        case windowsAreDue
        case throttleIsOver
        /// It is time to look at the schedules, or the clock or the time zone was set.
        case clockHasChanged
        case namesHaveChanged
        case changesAreCommitted
        /// A long reply has left.
        case replyHasLeft(bytes: Int, to: String)
    }

    /// Passes reports on. The sources of the loop have it instead of the host.
    final class Reports {
        var receive: (Report) -> Void = { _ in }
    }

    let reports: Reports
    let boot = SystemHost.readBoot()
    let loop: EventLoop
    let callers: CallerDirectory
    let programs: ProgramDirectory
    let actions: ActionRunner
    let session: SessionWatch?
    let bus: BusConnection
    let logger: Logger
    private let integrityChecker: IntegrityChecker
    private let endOfTurn: EventSource
    private let windowTimer: EventSource
    private let lifetimeTimer: EventSource
    private let jobTimer: EventSource
    private let throttleTimer: EventSource
    private let wallTimer: WallTimer
    /// Of the state directory.
    private var nameChanges: EventSource?
    /// Only where there are schedules.
    private var zoneChanges: EventSource?

    init(bus: BusConnection, logger: Logger) throws(SystemdError) {
        let (loop, reports) = (try EventLoop(), Reports())
        (self.loop, self.reports, self.bus, self.logger) = (loop, reports, bus, logger)
        endOfTurn = try loop.deferred { reports.receive(.turnIsOver) }
        windowTimer = try loop.timer(.monotonic) { reports.receive(.windowsAreDue) }
        lifetimeTimer = try loop.timer(.boottime) { reports.receive(.windowsAreDue) }
        jobTimer = try loop.timer(.monotonic) { [endOfTurn] in endOfTurn.trigger() }
        throttleTimer = try loop.timer(.monotonic) { reports.receive(.throttleIsOver) }
        wallTimer = try WallTimer(on: loop) { reports.receive(.clockHasChanged) }
        callers = CallerDirectory(bus: bus)
        programs = ProgramDirectory(bus: bus)
        actions = ActionRunner(bus: bus, loop: loop, logger: logger)
        integrityChecker = IntegrityChecker(loop: loop, logger: logger)
        session = SessionWatch.start(on: loop, logger: logger)
    }

    // MARK: Clocks and timers

    var now: Now {
        Now(instant: Instant(microseconds: Clock.monotonic()), uptime: Uptime(microseconds: Clock.boottime()))
    }

    var instant: Instant { Instant(microseconds: Clock.monotonic()) }

    var wall: Int64 { Clock.realtime() }

    func moment(_ uptime: Uptime) -> Int64 { wall + uptime.microseconds - Clock.boottime() }

    /// random(4)
    private static func readBoot() -> String {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "unknown" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 36)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// When the window and lifetime timers fire.
    private var windowMoment: Instant?
    private var lifetimeMoment: Uptime?

    func armWindowTimer(at moment: Instant) {
        windowMoment = moment
        windowTimer.arm(at: moment.microseconds)
    }

    func armLifetimeTimer(at moment: Uptime) {
        lifetimeMoment = moment
        lifetimeTimer.arm(at: moment.microseconds)
    }

    /// Whether messages have delayed one of the two timers by so much.
    func isTimerOverdue(by grace: Duration) -> Bool {
        let now = now
        return windowMoment.map { $0 + grace <= now.instant } ?? false
            || lifetimeMoment.map { $0 + grace <= now.uptime } ?? false
    }

    /// Called before the router handles what is due; it arms the timers again.
    func forgetDueTimers() {
        let now = now
        if let moment = windowMoment, moment <= now.instant { windowMoment = nil }
        if let moment = lifetimeMoment, moment <= now.uptime { lifetimeMoment = nil }
    }

    func armJobTimer(at moment: Instant) { jobTimer.arm(at: moment.microseconds) }

    func watchNames(in directory: String) {
        // A directory that is not there is watched once it has been made.
        nameChanges = try? loop.directoryChanges(directory) { [reports] in reports.receive(.namesHaveChanged) }
    }

    func armThrottleTimer(at moment: Instant) { throttleTimer.arm(at: moment.microseconds) }
    func changesCommitted() { reports.receive(.changesAreCommitted) }
    func endTurnWhenIdle() { endOfTurn.trigger() }

    func armWallTimer(at moment: Int64?) {
        guard let moment else {
            wallTimer.disarm()
            zoneChanges = nil
            return
        }
        wallTimer.arm(at: moment)
        guard zoneChanges == nil else { return }
        do throws(SystemdError) {
            // The link /etc/localtime is replaced when the time zone is set.
            zoneChanges = try loop.directoryChanges("/etc") { [reports] in reports.receive(.clockHasChanged) }
        } catch {
            logger.record(.zoneUnwatched, ["error": "\(error)"])
        }
    }

    var calendar: LocalCalendar { .system }

    // MARK: Messages

    var queuedMessages: UInt64 { UInt64(bus.queuedMessages) }
    var queuedBytes: Int { bus.queuedBytes }

    func device(of seed: String) -> String { Machine.mix(seed) }
    func lookUpProgram(of claimant: String) -> ProgramDirectory.Lookup { programs.lookUp(claimant) }
    func owner(of caller: String) -> String { programs.owner(of: caller) }
    func releaseMemory() { Memory.releaseAll() }
    func checkIntegrity(of file: String, _ ended: @escaping (IntegrityCheck) -> Void) {
        integrityChecker.check(file, ended)
    }

    func run(_ action: String, of event: Event, token: String?) -> Refusal? {
        actions.run(action, of: event, token: token)
    }

    var failedCommands: UInt64 { actions.failures }

    var knowsSession: Bool { session?.isKnown ?? false }
    func show(status: String) { ServiceManager.status(status) }
}
