import Glibc
public import Logging
import Routing
import Systemd

/// What the command line says; everything has a default.
public struct DaemonOptions: Sendable {
    /// A D-Bus server address instead of the user's session bus.
    public var address: String?
    /// A configuration file instead of all others.
    public var configuration: String?
    /// The state directory instead of `$XDG_STATE_HOME/notifyd`.
    public var state: String?
    /// A log level instead of the configuration's.
    public var logLevel: Logger.Level?

    public init(
        address: String? = nil, configuration: String? = nil, state: String? = nil, logLevel: Logger.Level? = nil
    ) {
        self.address = address
        self.configuration = configuration
        self.state = state
        self.logLevel = logLevel
    }
}

/// The daemon's exit codes; those below 128 beside 0 are from sysexits.h.
public enum ExitCode {
    public static let success: CInt = 0
    /// Somebody else has the name on the bus.
    public static let nameTaken: CInt = 69
    /// Something in the system failed that should not have.
    public static let systemFailure: CInt = 71
    /// The bus cannot be reached or went away; worth another try.
    public static let busLost: CInt = 75
    /// The configuration is bad.
    public static let badConfiguration: CInt = 78
}

/// The daemon, to the end of its process: it is never taken apart, so what a leak checker finds then is really lost. Only
/// the thread that runs the daemon writes it.
nonisolated(unsafe) private var running: AnyObject?

/// Runs the daemon until it is told to stop, on the thread that calls it. To be called before any other thread is there.
public func runNotifyDaemon(_ options: DaemonOptions) -> CInt {
    Memory.keepLargeBlocksApart()
    EventLoop.ignoreFailureSignals()
    EventLoop.blockSignals([SIGTERM, SIGINT, SIGHUP, SIGCHLD])
    var logger = Logger(label: "notifyd") { _ -> any LogHandler in
        JournalLogHandler.isConnected ? JournalLogHandler(identifier: "notifyd") : StandardErrorLogHandler()
    }
    let files = ConfigurationFiles.fingerprint(only: options.configuration)
    var loaded: Result<Configuration, ConfigurationError>
    do throws(ConfigurationError) {
        loaded = .success(try ConfigurationFiles.load(only: options.configuration))
    } catch {
        for line in error.lines { logger.record(.badConfiguration, ["error": "\(line)"]) }
        // Whoever has started it by a call waits for an answer.
        guard ServiceManager.isThere || ServiceManager.isBus else { return ExitCode.badConfiguration }
        loaded = .failure(error)
    }
    // A service manager does not try again with a bad configuration, whatever else is wrong.
    func exitCode(_ code: CInt) -> CInt {
        if case .failure = loaded { ExitCode.badConfiguration } else { code }
    }
    guard let address = options.address ?? BaseDirectories().sessionBusAddress else {
        logger.record(.noBusKnown)
        return exitCode(ExitCode.busLost)
    }
    let bus: BusConnection
    do throws(SystemdError) {
        bus = try BusConnection(address: address)
    } catch {
        logger.record(.busUnreachable, ["address": "\(address)", "error": "\(error)"])
        return exitCode(ExitCode.busLost)
    }
    do throws(SystemdError) {
        let peers = try PeerWatch(bus)
        let link = try BusNotificationLink(bus: bus, logger: logger)
        // Whoever has the name has the journal. Calls that come before the loop runs wait in the socket.
        try bus.requestName(RouterInterface.name)
        if case .failure(let error) = loaded {
            let service = try ConfigurationErrorService(error, in: options.configuration, as: files, on: bus)
            guard let corrected = try service.run() else {
                bus.flush()
                // The name is free only when the process has ended: a call in between would start nothing and wait.
                running = bus
                return ExitCode.badConfiguration
            }
            loaded = .success(corrected)
        }
        guard case .success(let configuration) = loaded else { preconditionFailure("a bad one has been replaced") }
        logger.logLevel = options.logLevel ?? configuration.logLevel
        let loop = try EventLoop()
        try loop.watchOver()
        let limits = Limits()
        let state = options.state.map { BaseDirectories.absolute(path: $0) } ?? BaseDirectories().state
        let disk = StateDirectory(state, limits: limits)
        let storage = Storage(disk: disk, logger: logger)
        let host = SystemHost(options: options, loop: loop, bus: bus, peers: peers, logger: logger)
        let daemon = Daemon(
            configuration: configuration, limits: limits, storage: storage, link: link, host: host, logger: logger)
        try host.start(daemon, link)
        logger.record(
            .started,
            [
                "version": "\(notifydVersion)",
                "configuration":
                    "\(configuration.files.isEmpty ? "built in" : configuration.files.joined(separator: ", "))",
            ])
        ServiceManager.ready(status: daemon.status)
        running = daemon
        let code = try loop.run()
        bus.flush()
        return code
    } catch  where error.isNameTaken {
        logger.record(.nameTaken, ["name": "\(RouterInterface.name)"])
        return exitCode(ExitCode.nameTaken)
    } catch {
        logger.record(.systemFailure, ["error": "\(error)"])
        return exitCode(ExitCode.systemFailure)
    }
}

/// Reads the configuration and says what is wrong with it, or what is in force.
///
/// - Returns: the exit code, and the text for standard output or, where it is bad, standard error.
public func checkConfiguration(_ file: String?) -> (code: CInt, text: String) {
    do throws(ConfigurationError) {
        let configuration = try ConfigurationFiles.load(only: file)
        let files =
            configuration.files.isEmpty ? "no files, built-in routes only" : configuration.files.joined(separator: ", ")
        let routes = configuration.routes.routes.map { "  \($0.name)" }.joined(separator: "\n")
        let rules = configuration.policy.rules.map { "  \($0)" }.joined(separator: "\n")
        return (
            ExitCode.success,
            "The configuration is good (\(files)). Routes:\n\(routes)" + (rules.isEmpty ? "" : "\nPolicy:\n\(rules)")
        )
    } catch {
        return (ExitCode.badConfiguration, error.description)
    }
}
