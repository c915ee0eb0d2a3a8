import Glibc
import Journal
import Logging
import Routing
import Systemd

/// The daemon's host in earnest: the machine's clocks, sd-event's loop, the session bus, the user's session.
final class SystemHost: Host {
    let boot = SystemHost.readBoot()

    private let options: DaemonOptions
    private let loop: EventLoop
    private let bus: BusConnection
    private let peers: PeerWatch
    let callers: CallerDirectory
    let programs: ProgramDirectory
    private var logger: Logger
    private let actions: ActionRunner
    private let examiner: JournalExaminer
    private unowned var daemon: Daemon<SystemHost>!
    private var session: SessionWatch?
    private var interface: RouterInterface!
    private var sources: [EventSource] = []
    private var slots: [BusSlot] = []
    private var endOfTurn: EventSource!
    private var windowTimer: EventSource!
    private var lifetimeTimer: EventSource!
    private var retryTimer: EventSource!
    private var recoveryTimer: EventSource!
    private var floodTimer: EventSource!

    init(options: DaemonOptions, loop: EventLoop, bus: BusConnection, peers: PeerWatch, logger: Logger) {
        self.options = options
        self.loop = loop
        self.bus = bus
        self.peers = peers
        callers = CallerDirectory(bus: bus)
        programs = ProgramDirectory(bus: bus)
        self.logger = logger
        actions = ActionRunner(bus: bus, loop: loop, logger: logger)
        examiner = JournalExaminer(loop: loop, logger: logger)
    }

    /// Sets everything up, in the order in which it is needed, and starts the daemon.
    func start(_ daemon: Daemon<SystemHost>, _ link: BusNotificationLink) throws(SystemdError) {
        self.daemon = daemon
        windowTimer = try loop.timer(.monotonic) { [unowned self] in interface.endWindows() }
        lifetimeTimer = try loop.timer(.boottime) { [unowned self] in interface.endWindows() }
        retryTimer = try loop.timer(.monotonic, .orders) { [unowned daemon] in daemon.retryStorage() }
        recoveryTimer = try loop.timer(.monotonic) { [unowned self] in endTurnWhenIdle() }
        floodTimer = try loop.timer(.monotonic) { [unowned self] in interface.goOnWithFlood() }
        endOfTurn = try loop.deferred { [unowned daemon] in daemon.turnIsOver() }
        for signal in [SIGTERM, SIGINT] {
            sources.append(try loop.signal(signal) { [unowned self] in stop() })
        }
        sources.append(try loop.signal(SIGHUP) { [unowned self] in reload() })
        slots.append(try bus.onDisconnect { [unowned self] in busLost() })
        interface = RouterInterface(daemon: daemon, bus: bus)
        try bus.attach(to: loop, as: interface)
        try interface.export()
        interface.applyPolicy()
        try link.watch(daemon.server)
        callers.onIdentification = { [unowned daemon] in daemon.log($0, $1) }
        programs.onAnswer = { [unowned daemon] in daemon.programFound($1, of: $0) }
        peers.onLeave = { [unowned self] name in interface.callerLeft(name) }
        session = SessionWatch.start(on: loop, logger: logger)
        session?.onChange = { [unowned daemon] in daemon.take(.attentionChanged(isWatched: $0)) }
        daemon.start()
    }

    // MARK: Clocks and timers

    var now: Now {
        Now(
            instant: Instant(microseconds: Clock.monotonic()), uptime: Uptime(microseconds: Clock.boottime()))
    }

    var wall: Int64 { Clock.realtime() }

    /// random(4)
    private static func readBoot() -> String {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "unknown" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 36)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// For when the timers of windows and of lifetimes are armed.
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

    /// Whether messages have kept one of the two waiting for so long.
    func isTimerOverdue(by grace: Duration) -> Bool {
        let now = now
        return windowMoment.map { $0 + grace <= now.instant } ?? false
            || lifetimeMoment.map { $0 + grace <= now.uptime } ?? false
    }

    /// The router does what is due now, and arms the timers for what comes after.
    func forgetDueTimers() {
        let now = now
        if let moment = windowMoment, moment <= now.instant { windowMoment = nil }
        if let moment = lifetimeMoment, moment <= now.uptime { lifetimeMoment = nil }
    }

    func armRetryTimer(at moment: Instant) { retryTimer.arm(at: moment.microseconds) }
    func armRecoveryTimer(at moment: Instant) { recoveryTimer.arm(at: moment.microseconds) }
    func armFloodTimer(at moment: Instant) { floodTimer.arm(at: moment.microseconds) }
    func endTurnWhenIdle() { endOfTurn.trigger() }

    // MARK: Messages

    func reply(_ reply: Reply, to call: HeldMessage) -> HeldMessage { interface.reply(reply, to: call) }

    func refusal(_ refusal: Refusal, of call: HeldMessage) -> HeldMessage {
        HeldMessage(bus.methodError(to: call.message, BusFailure(refusal)))
    }

    func announcement(_ event: Event, _ announcement: Announcement) -> HeldMessage {
        interface.announcement(event, announcement)
    }

    func resolution(_ id: EventID, _ topic: Topic, _ resolution: Resolution) -> HeldMessage {
        interface.resolution(id, topic, resolution)
    }

    func removal(_ topic: Topic, _ id: EventID) -> HeldMessage { interface.removal(topic, id) }
    func action(_ event: Event, _ action: String) -> HeldMessage { interface.action(event, action) }

    func send(_ message: HeldMessage) {
        do throws(SystemdError) {
            try bus.send(message.message, bytes: message.bytes)
        } catch {
            logger.record(.messageNotSent, ["error": "\(error)"])
        }
    }

    var queuedMessages: UInt64 { UInt64(bus.queuedMessages) }
    var queuedBytes: Int { bus.queuedBytes }

    func findProgram(of claimant: String) -> ProgramDirectory.Finding { programs.find(claimant) }
    func releaseMemory() { Memory.release() }
    func examine(_ file: String, _ ended: @escaping (Examination) -> Void) { examiner.examine(file, ended) }

    func run(_ action: String, of event: Event, token: String?) {
        actions.run(action, of: event, token: token)
    }

    var failedCommands: UInt64 { actions.failures }

    func degradationChanged() { interface.degradationChanged() }
    func defaultWindowChanged() { interface.defaultWindowChanged() }
    func quietChanged(isPauseChanged: Bool) { interface.quietChanged(isPauseChanged: isPauseChanged) }
    var knowsSession: Bool { session?.isKnown ?? false }
    func statusChanged() { ServiceManager.status(daemon.status) }

    // MARK: Orders

    private func stop() {
        logger.record(.stopping)
        ServiceManager.stopping()
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
            logger.record(.reloaded)
            ServiceManager.ready(status: daemon.status)
        } catch {
            for line in error.lines { logger.record(.badNewConfiguration, ["error": "\(line)"]) }
            ServiceManager.ready(status: "\(daemon.status); the configuration on disk is bad: \(error.summary)")
        }
    }
}

extension Daemon where Outside == SystemHost {
    var callers: CallerDirectory { host.callers }
    var programs: ProgramDirectory { host.programs }

    /// - Parameter bytes: about how long the reply is, where it may be long.
    func leave(_ reply: consuming BusMessage, bytes: Int = 0, to call: borrowing BusMessage) {
        leave(HeldMessage(reply, bytes: bytes), to: HeldMessage(retaining: call))
    }
}
