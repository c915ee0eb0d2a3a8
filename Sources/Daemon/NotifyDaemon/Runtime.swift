import Glibc
import Journal
import Logging
import NotifyText
import Routing
import Systemd
import TOMLTables
import UserFiles

/// Owns everything while the daemon runs, and ties it together: the loop and what is on it, the daemon with its store,
/// its router and the notification server, and the interface on the bus. All of that lives as long as the process, so
/// what it hands to the loop and to the bus may hold it.
final class Runtime {
    /// So long the daemon waits for the answers of the notification server before it ends.
    private static let stopTimeout: Duration = .milliseconds(500)

    private let options: DaemonOptions
    private let bus: BusConnection
    private let link: BusNotificationLink
    private let host: SystemHost
    private let daemon: Daemon
    private let interface: RouterInterface
    private var logger: Logger
    private var sources: [EventSource] = []
    private var slots: [BusSlot] = []
    /// Made when the daemon is told to stop.
    private var stopTimer: EventSource?

    /// - Parameter bus: owns the name of the service. Calls that come before the loop runs wait in its socket.
    init(
        _ options: DaemonOptions, _ configuration: Configuration, _ bus: BusConnection, _ peers: PeerMonitor,
        _ link: BusNotificationLink, _ logger: Logger
    ) throws(SystemdError) {
        (self.options, self.bus, self.link, self.logger) = (options, bus, link, logger)
        self.logger.logLevel = options.logLevel ?? configuration.logLevel
        let limits = Limits()
        host = try SystemHost(bus: bus, logger: self.logger)
        try ServiceManager.attach(to: host.loop)
        let state = options.state.map { BaseDirectories.absolute(path: $0) } ?? BaseDirectories().state
        daemon = Daemon(
            configuration: configuration, limits: limits,
            storage: Storage(Journal(in: state, limits: limits), logger: self.logger), link: link, host: host,
            logger: self.logger)
        interface = RouterInterface(daemon: daemon, host: host)
        host.reports.receive = { [self] in receive($0) }
        host.callers.onIdentification = { [daemon] in daemon.log($0, $1) }
        host.programs.onAnswer = { [daemon, interface] name, program, hasLeft in
            daemon.programIdentified(program, of: name, hasLeft: hasLeft)
            interface.programIdentified(name)
        }
        host.session?.onChange = { [daemon] in daemon.sessionChanged($0) }
        peers.onLeave = { [interface] in interface.callerLeft($0) }
    }

    /// Runs the daemon until it is told to stop.
    ///
    /// - Returns: the exit code.
    func run() throws(SystemdError) -> CInt {
        let loop = host.loop
        for signal in [SIGTERM, SIGINT] { sources.append(try loop.signal(signal) { [self] in stop() }) }
        sources.append(try loop.signal(SIGHUP) { [self] in reload() })
        slots.append(try bus.onDisconnect { [self] in busLost() })
        try bus.attach(to: loop, delegate: interface)
        try interface.export()
        interface.applyPolicy()
        let desktop = try DesktopQuiet(bus: bus, loop: loop)
        desktop.onChange = { [daemon] in daemon.handle(.desktopQuiet($0)) }
        try link.watch(daemon.server, desktop)
        daemon.start()
        let files = daemon.configuration.files
        logger.record(
            .started,
            [
                "version": "\(notifydVersion)",
                "configuration": "\(files.isEmpty ? "built in" : files.joined(separator: ", "))",
            ])
        logger.recordLeftOut(daemon.configuration)
        ServiceManager.ready(status: daemon.status)
        let code = try loop.run()
        bus.flush()
        ServiceManager.finish()
        return code
    }

    private func receive(_ report: SystemHost.Report) {
        switch report {
        case .turnIsOver:
            daemon.finishTurn()
            interface.answerAwaiting()
        case .windowsAreDue: interface.endWindows()
        case .throttleIsOver: interface.refillThrottle()
        case .clockHasChanged: daemon.updateSchedules()
        case .namesHaveChanged: daemon.storage.namesChanged()
        case .changesAreCommitted: interface.changesCommitted()
        case .replyHasLeft(let bytes, let caller): interface.noteReply(of: bytes, to: caller)
        }
    }

    // MARK: Orders

    /// A banner whose call is not answered yet would be shown again by the next run. A second signal ends the wait.
    private func stop() {
        guard stopTimer == nil else { return end(ExitStatus.success) }
        logger.record(.stopping)
        ServiceManager.stopping()
        guard let timer = try? host.loop.timer(.monotonic, .orders, { [self] in end(ExitStatus.success) }) else {
            return end(ExitStatus.success)
        }
        stopTimer = timer
        timer.arm(at: (host.instant + Self.stopTimeout).microseconds)
        // The answer may be one of several messages: the loop handles all of them, and then the timer.
        daemon.server.drain { [host] in timer.arm(at: host.instant.microseconds) }
    }

    private func busLost() {
        logger.record(.busLost)
        end(ExitStatus.busLost)
    }

    private func end(_ code: CInt) {
        daemon.finish()
        host.loop.exit(code)
    }

    private func reload() {
        ServiceManager.reloading()
        do throws(ConfigurationError) {
            let loaded = try ConfigurationFiles.load(only: options.configuration)
            logger.logLevel = options.logLevel ?? loaded.logLevel
            daemon.reconfigure(loaded, logLevel: logger.logLevel)
            interface.applyPolicy()
            host.actions.forgetProblems()
            logger.recordLeftOut(loaded)
            logger.record(.reloaded)
            ServiceManager.ready(status: daemon.status)
        } catch {
            for line in error.lines { logger.record(.badNewConfiguration, ["error": "\(line)"]) }
            ServiceManager.ready(status: "\(daemon.status); the configuration on disk is bad: \(error.summary)")
        }
    }
}
