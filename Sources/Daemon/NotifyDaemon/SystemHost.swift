import Glibc
import Journal
import Logging
import Routing
import Systemd
import TOMLTables

/// The real host: clocks, sd-event's loop, the session bus, the user's session.
final class SystemHost: Host {
    let boot = SystemHost.readBoot()

    private let options: DaemonOptions
    private let loop: EventLoop
    private let bus: BusConnection
    private let codec: BusCodec
    private let peers: PeerMonitor
    let callers: CallerDirectory
    let programs: ProgramDirectory
    private var logger: Logger
    private let actions: ActionRunner
    private let integrityChecker: IntegrityChecker
    private unowned var daemon: Daemon!
    private var session: SessionWatch?
    private var interface: RouterInterface!
    private var sources: [EventSource] = []
    private var slots: [BusSlot] = []
    private var endOfTurn: EventSource!
    private var windowTimer: EventSource!
    private var lifetimeTimer: EventSource!
    private var jobTimer: EventSource!
    private var throttleTimer: EventSource!
    /// Made when the daemon is told to stop.
    private var stopTimer: EventSource?
    private var wallTimer: WallTimer!
    /// Of the state directory.
    private var nameChanges: EventSource?
    /// Only where there are schedules.
    private var zoneChanges: EventSource?

    init(options: DaemonOptions, loop: EventLoop, codec: BusCodec, peers: PeerMonitor, logger: Logger) {
        self.options = options
        self.loop = loop
        self.codec = codec
        bus = codec.bus
        self.peers = peers
        callers = CallerDirectory(bus: bus)
        programs = ProgramDirectory(bus: bus)
        self.logger = logger
        actions = ActionRunner(bus: bus, loop: loop, logger: logger)
        integrityChecker = IntegrityChecker(loop: loop, logger: logger)
    }

    /// Sets everything up and starts the daemon.
    func start(_ daemon: Daemon, _ link: BusNotificationLink) throws(SystemdError) {
        self.daemon = daemon
        windowTimer = try loop.timer(.monotonic) { [unowned self] in interface.endWindows() }
        lifetimeTimer = try loop.timer(.boottime) { [unowned self] in interface.endWindows() }
        jobTimer = try loop.timer(.monotonic) { [unowned self] in endTurnWhenIdle() }
        throttleTimer = try loop.timer(.monotonic) { [unowned self] in interface.refillThrottle() }
        wallTimer = try WallTimer(on: loop) { [unowned daemon] in daemon.updateSchedules() }
        endOfTurn = try loop.deferred { [unowned self, unowned daemon] in
            daemon.finishTurn()
            interface.answerAwaiting()
        }
        for signal in [SIGTERM, SIGINT] {
            sources.append(try loop.signal(signal) { [unowned self] in stop() })
        }
        sources.append(try loop.signal(SIGHUP) { [unowned self] in reload() })
        slots.append(try bus.onDisconnect { [unowned self] in busLost() })
        interface = RouterInterface(daemon: daemon, host: self, codec: codec)
        try bus.attach(to: loop, delegate: interface)
        try interface.export()
        interface.applyPolicy()
        let desktop = try DesktopQuiet(bus: bus, loop: loop)
        desktop.onChange = { [unowned daemon] in daemon.handle(.desktopQuiet($0)) }
        try link.watch(daemon.server, desktop)
        callers.onIdentification = { [unowned daemon] in daemon.log($0, $1) }
        programs.onAnswer = { [unowned self, unowned daemon] name, program, hasLeft in
            daemon.programIdentified(program, of: name, hasLeft: hasLeft)
            interface.programIdentified(name)
        }
        peers.onLeave = { [unowned self] name in interface.callerLeft(name) }
        session = SessionWatch.start(on: loop, logger: logger)
        session?.onChange = { [unowned daemon] in daemon.sessionChanged($0) }
        daemon.start()
    }

    private var isCodeReleased = false

    // MARK: Clocks and timers

    var now: Now {
        Now(
            instant: Instant(microseconds: Clock.monotonic()), uptime: Uptime(microseconds: Clock.boottime()))
    }

    var instant: Instant { Instant(microseconds: Clock.monotonic()) }

    var wall: Int64 { Clock.realtime() }

    private func moment(_ uptime: Uptime) -> Int64 { wall + uptime.microseconds - Clock.boottime() }

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
        nameChanges = try? loop.directoryChanges(directory) { [unowned daemon] in daemon?.journalNamesChanged() }
    }

    func armThrottleTimer(at moment: Instant) { throttleTimer.arm(at: moment.microseconds) }
    func changesCommitted() { interface.changesCommitted() }
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
            zoneChanges = try loop.directoryChanges("/etc") { [unowned self] in daemon.updateSchedules() }
        } catch {
            logger.record(.zoneUnwatched, ["error": "\(error)"])
        }
    }

    var calendar: LocalCalendar { .system }

    // MARK: Messages

    func send(_ message: Outgoing) {
        do throws(SystemdError) {
            switch message {
            case .reply(let reply, let call): try bus.send(codec.reply(reply, to: Self.message(call).message))
            case .error(let refusal, let call): try bus.send(codec.error(refusal, to: Self.message(call).message))
            case .encoded(let reply):
                try bus.send(reply.message, bytes: reply.bytes)
                interface.noteReply(of: reply.bytes, to: reply.message.destination)
            case .signal(let signal):
                let message = codec.signal(signal, clock: moment, program: programs.program)
                try bus.send(message, bytes: signal.bytes)
            case .propertiesChanged(let properties):
                bus.propertiesChanged(
                    path: BusCodec.path, interface: BusCodec.interface, properties.map(\.rawValue))
            }
        } catch {
            logger.record(.messageNotSent, ["error": "\(error)"])
        }
    }

    private static func message(_ call: any MethodCall) -> RetainedMessage {
        guard let message = call as? RetainedMessage else { preconditionFailure("every call came from the bus") }
        return message
    }

    var queuedMessages: UInt64 { UInt64(bus.queuedMessages) }
    var queuedBytes: Int { bus.queuedBytes }

    func device(of seed: String) -> String { Machine.mix(seed) }
    func lookUpProgram(of claimant: String) -> ProgramDirectory.Lookup { programs.lookUp(claimant) }
    func owner(of caller: String) -> String { programs.owner(of: caller) }
    func releaseMemory() {
        Memory.release()
        // Only the start runs so much that is not needed again. Later, what is released would be mapped again.
        guard !isCodeReleased else { return }
        isCodeReleased = true
        Memory.releaseCode()
    }
    func checkIntegrity(of file: String, _ ended: @escaping (IntegrityCheck) -> Void) {
        integrityChecker.check(file, ended)
    }

    func run(_ action: String, of event: Event, token: String?) -> Refusal? {
        actions.run(action, of: event, token: token)
    }

    var failedCommands: UInt64 { actions.failures }

    /// What does not work although notifyd runs; for `Diagnose`.
    var problems: [(what: String, state: String, advice: String)] { actions.problems }

    var knowsSession: Bool { session?.isKnown ?? false }
    func statusChanged() { ServiceManager.status(daemon.status) }

    // MARK: Orders

    /// So long the daemon waits for the answers of the notification server before it ends.
    private static let stopTimeout: Duration = .milliseconds(500)

    /// A banner whose call is not answered yet would be shown again by the next run. A second signal ends the wait.
    private func stop() {
        guard stopTimer == nil else { return end() }
        logger.record(.stopping)
        ServiceManager.stopping()
        guard let timer = try? loop.timer(.monotonic, .orders, { [unowned self] in end() }) else { return end() }
        stopTimer = timer
        timer.arm(at: (instant + Self.stopTimeout).microseconds)
        // The answer may be one of several messages: the loop handles all of them, and then the timer.
        daemon.server.drain { [unowned self] in timer.arm(at: instant.microseconds) }
    }

    private func end() {
        daemon.finish()
        loop.exit(ExitCode.success)
    }

    private func busLost() {
        logger.record(.busLost)
        daemon.finish()
        loop.exit(ExitCode.busLost)
    }

    private func reload() {
        ServiceManager.reloading()
        do throws(ConfigurationError) {
            let loaded = try ConfigurationFiles.load(only: options.configuration)
            logger.logLevel = options.logLevel ?? loaded.logLevel
            daemon.reconfigure(loaded, logLevel: logger.logLevel)
            interface.applyPolicy()
            actions.forgetProblems()
            logger.recordLeftOut(loaded)
            logger.record(.reloaded)
            ServiceManager.ready(status: daemon.status)
        } catch {
            for line in error.lines { logger.record(.badNewConfiguration, ["error": "\(line)"]) }
            ServiceManager.ready(status: "\(daemon.status); the configuration on disk is bad: \(error.summary)")
        }
    }
}
