import Glibc
import Logging
import Routing
import Systemd

/// The shell around the router: it feeds in what happens on the bus and on the clocks, and does what the router decides.
final class Daemon {
    let limits = Limits()
    private(set) var configuration: Configuration
    private(set) var router: Router

    private let options: DaemonOptions
    private let loop: EventLoop
    private let bus: BusConnection
    private var logger: Logger
    private let server: NotificationServer
    private var interface: RouterInterface!
    private var sources: [EventSource] = []
    private var slots: [BusSlot] = []
    private var windowTimer: EventSource!
    private var lifetimeTimer: EventSource!
    private var turn: Turn!
    private let actions: ActionRunner
    private var session: SessionWatch?

    init(configuration: Configuration, options: DaemonOptions, loop: EventLoop, bus: BusConnection, logger: Logger) {
        self.configuration = configuration
        self.options = options
        self.loop = loop
        self.bus = bus
        self.logger = logger
        server = NotificationServer(bus: bus, logger: logger)
        actions = ActionRunner(bus: bus, loop: loop, logger: logger)
        // Above every id that an earlier run gave out, unless it accepted more than one event a microsecond.
        let firstID = EventID(UInt64(Clock.realtime()))
        router = Router(
            routes: configuration.routes, banners: configuration.banners, screens: configuration.screens,
            limits: limits,
            firstID: firstID)
    }

    /// Sets everything up, in the order in which it is needed. The name comes last: whoever has it can be called.
    func start() throws(SystemdError) {
        windowTimer = try loop.timer(.monotonic) { [unowned self] in take(.timerFired) }
        lifetimeTimer = try loop.timer(.boottime) { [unowned self] in take(.timerFired) }
        turn = try Turn(loop: loop) { [unowned self] in take(.timerFired) }
        for signal in [SIGTERM, SIGINT] {
            sources.append(try loop.signal(signal) { [unowned self] in stop() })
        }
        sources.append(try loop.signal(SIGHUP) { [unowned self] in reload() })
        slots.append(try bus.onDisconnect { [unowned self] in busLost() })
        try bus.attach(to: loop)
        interface = RouterInterface(daemon: self, bus: bus)
        try interface.export()
        server.onInput = { [unowned self] in take($0) }
        server.onChange = { [unowned self] in ServiceManager.status(status) }
        try server.watch()
        try watchPeers()
        session = SessionWatch.start(on: loop, logger: logger)
        session?.onChange = { [unowned self] in take(.attentionChanged(isWatched: $0)) }
        try bus.requestName(RouterInterface.name)
    }

    /// One rule names every connection that leaves; the bus keeps order, so it comes after the last message of that peer.
    private func watchPeers() throws(SystemdError) {
        slots.append(
            try bus.match(
                "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                    + "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''"
            ) { [unowned self] message in
                guard let name = try? message.readString(), name.hasPrefix(":") else { return }
                take(.peerLeft(name))
            })
    }

    // MARK: Deciding and doing

    private var now: Now {
        Now(
            instant: Instant(microseconds: Clock.monotonic()), uptime: Uptime(microseconds: Clock.boottime()))
    }

    /// Has the router decide about a call; the caller replies, and then has the rest performed.
    func decide(_ input: Input) -> [Effect] {
        turn.messageHandled()
        return router.handle(input, at: now)
    }

    /// Has the router decide about something nobody waits for.
    func take(_ input: Input) {
        perform(router.handle(input, at: now)[...])
    }

    func perform(_ effects: ArraySlice<Effect>) {
        for effect in effects {
            switch effect {
            case .reply: preconditionFailure("only a call is replied to, and its reply comes first")
            case .announce(let event, let announcement):
                interface.announce(event, announcement)
                log(event)
            case .resolve(let id, let topic, let resolution):
                interface.resolve(id, topic, resolution)
                log(id, topic, resolution)
            case .showBanner(let request):
                server.show(request, BannerText(request, templates: configuration.texts[request.newest.route.name]))
            case .closeBanner(let id): server.close(id)
            case .relayAction(let event, let action):
                interface.relayAction(event, action)
                actions.run(
                    action, of: event, by: configuration.routes.route(for: event.topic),
                    token: server.takeActivationToken())
            case .armTimer(let instant): windowTimer.arm(at: instant.microseconds)
            case .armLifetimeTimer(let uptime): lifetimeTimer.arm(at: uptime.microseconds)
            }
        }
    }

    /// Sends a reply or a signal.
    func leave(_ message: consuming BusMessage) {
        do throws(SystemdError) {
            try bus.send(message)
        } catch {
            logger.error("A message could not be sent", metadata: ["error": "\(error)"])
        }
    }

    var statistics: [(String, UInt64)] {
        router.statistics.named + [
            ("open-windows", UInt64(router.openWindows)), ("open-screens", UInt64(router.screenCount)),
            ("held-events", UInt64(router.heldEvents)), ("notification-server", server.owner == nil ? 0 : 1),
            ("notification-server-rests", router.serverRests ? 1 : 0), ("session-watched", router.isWatched ? 1 : 0),
        ]
    }

    // MARK: Orders

    private func stop() {
        logger.info("Stopping", metadata: ["message.id": "\(MessageID.stopping)"])
        ServiceManager.stopping()
        loop.exit(ExitCode.success)
    }

    private func busLost() {
        logger.error("The bus is gone", metadata: ["message.id": "\(MessageID.busLost)"])
        loop.exit(ExitCode.busLost)
    }

    /// One line for `systemctl status`.
    var status: String {
        server.owner == nil ? "Routing; no notification server is there, banners wait" : "Routing"
    }

    private func reload() {
        ServiceManager.reloading()
        do throws(ConfigurationError) {
            let loaded = try ConfigurationFiles.load(only: options.configuration)
            let windowChanged = loaded.defaultWindow != configuration.defaultWindow
            configuration = loaded
            logger.logLevel = options.logLevel ?? loaded.logLevel
            take(.reconfigured(loaded.routes, loaded.banners, loaded.screens))
            if windowChanged { interface.defaultWindowChanged() }
            logger.info("Configuration reloaded", metadata: ["message.id": "\(MessageID.reloaded)"])
            ServiceManager.ready(status: status)
        } catch {
            logger.error(
                "The new configuration is bad, the old one stays in force",
                metadata: ["message.id": "\(MessageID.badConfiguration)", "error": "\(error)"])
            ServiceManager.ready(status: "\(status); the configuration on disk is bad: \(error)")
        }
    }

    // MARK: The log, which never holds a title or a body

    private func log(_ event: Event) {
        logger.debug(
            "Event accepted",
            metadata: [
                "message.id": "\(MessageID.event)", "event.id": "\(event.id)", "topic": "\(event.topic)",
                "sender": "\(event.sender)", "route": "\(event.route.name)",
            ])
    }

    private func log(_ id: EventID, _ topic: Topic, _ resolution: Resolution) {
        logger.debug(
            "Event decided",
            metadata: [
                "message.id": "\(MessageID.outcome)", "event.id": "\(id)", "topic": "\(topic)",
                "outcome": "\(resolution.outcome.rawValue)", "claimant": "\(resolution.claimant ?? "-")",
            ])
    }
}

extension Statistics {
    /// The counters as the property `Statistics` names them.
    var named: [(String, UInt64)] {
        [
            ("published", published), ("repeated", repeated), ("refused", refused), ("claimed", claimed),
            ("shown", shown), ("retracted", retracted), ("dismissed", dismissed), ("silent", silent),
            ("muted", muted), ("expired", expired), ("recorded-claims", recordedClaims), ("banner-calls", bannerCalls),
            ("banner-failures", bannerFailures), ("banners-closed", bannersClosed), ("banners-folded", bannersFolded),
            ("forgotten", forgotten),
        ]
    }
}
