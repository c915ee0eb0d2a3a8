import Glibc
import Journal
public import Logging
import NotifyText
import Routing
import Systemd
import TOMLTables
import UserFiles

/// The version that the daemon announces.
public let notifydVersion = projectVersion

/// The options of the command line; each has a default.
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

/// Keeps the daemon until the process ends, so that a leak checker reports only real leaks. Only the thread that runs
/// the daemon writes it.
nonisolated(unsafe) private var running: AnyObject?

/// The files that the daemon opens, with some to spare. libdispatch ends a process that has none left.
private let neededFiles = 32

/// Why the daemon cannot run with the files that this process may open; `nil`: it can.
private var tooFewFiles: String? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < 1024 else { return nil }
    let free = (0..<CInt(limit.rlim_cur)).count { fcntl($0, F_GETFD) < 0 }
    guard free < neededFiles else { return nil }
    return "it may open \(free) more files and needs \(neededFiles); "
        + "raise the limit (ulimit -n, or LimitNOFILE= of the unit)"
}

/// Runs the daemon on the calling thread until it is told to stop. Call it before any other thread is started.
public func runNotifyDaemon(_ options: DaemonOptions) -> CInt {
    Memory.keepLargeBlocksApart()
    ProgramPath.extend()
    EventLoop.ignoreFailureSignals()
    EventLoop.blockSignals([SIGTERM, SIGINT, SIGHUP, SIGCHLD])
    let logger = Logger(label: "notifyd") { ServiceLogHandler(identifier: $0) }
    if let few = tooFewFiles {
        logger.record(.systemFailure, ["error": "\(few)"])
        return ExitStatus.systemFailure
    }
    let files = ConfigurationFiles.fingerprint(only: options.configuration)
    var loaded: Result<Configuration, ConfigurationError>
    do throws(ConfigurationError) {
        loaded = .success(try ConfigurationFiles.load(only: options.configuration))
    } catch {
        for line in error.lines { logger.record(.badConfiguration, ["error": "\(line)"]) }
        // If a call has started the process, the caller waits for a reply.
        guard ServiceManager.isThere || ServiceManager.isBus else { return ExitStatus.badConfiguration }
        loaded = .failure(error)
    }
    // With a bad configuration a service manager does not restart it, whatever else fails.
    func exitCode(_ code: CInt) -> CInt {
        if case .failure = loaded { ExitStatus.badConfiguration } else { code }
    }
    guard let address = options.address ?? BaseDirectories().sessionBusAddress else {
        logger.record(.noBusKnown)
        return exitCode(ExitStatus.busLost)
    }
    let bus: BusConnection
    do throws(SystemdError) {
        bus = try BusConnection(address: address)
    } catch {
        logger.record(.busUnreachable, ["address": "\(address)", "error": "\(error)"])
        return exitCode(ExitStatus.busLost)
    }
    do throws(SystemdError) {
        let peers = try PeerMonitor(bus)
        let link = try BusNotificationLink(bus: bus)
        // The owner of the name owns the journal. Calls that come before the loop runs wait in the socket.
        try bus.requestName(RouterInterface.name)
        if case .failure(let error) = loaded {
            let service = try ConfigurationErrorService(error, in: options.configuration, as: files, on: bus)
            guard let corrected = try service.run() else {
                bus.flush()
                // The name is released by the end of the process: a call in between would start nothing and wait.
                running = bus
                return ExitStatus.badConfiguration
            }
            loaded = .success(corrected)
        }
        guard case .success(let configuration) = loaded else { preconditionFailure("a bad one has been replaced") }
        let runtime = try Runtime(options, configuration, bus, peers, link, logger)
        running = runtime
        return try runtime.run()
    } catch  where error.isNameTaken {
        logger.record(.nameTaken, ["name": "\(RouterInterface.name)"])
        return exitCode(ExitStatus.nameTaken)
    } catch {
        logger.record(.systemFailure, ["error": "\(error)"])
        return exitCode(ExitStatus.systemFailure)
    }
}

/// What follows it in the output of `checkConfiguration` are programs of buttons that are not there. notifyctl looks
/// for it.
private let missingHeading = "Missing programs:"

/// What follows it in the output of `checkConfiguration` are files of packages with mistakes. notifyctl looks for it.
private let leftOutHeading = "Left out:"

/// Reads the configuration and describes its errors or its contents. Programs of buttons are looked for in `PATH` and
/// beside notifyd.
///
/// - Returns: the exit code, and the text for standard output or, after an error, standard error.
public func checkConfiguration(_ file: String?) -> (code: CInt, text: String) {
    ProgramPath.extend()
    do throws(ConfigurationError) {
        let configuration = try ConfigurationFiles.load(only: file)
        let files =
            configuration.files.isEmpty ? "no files, built-in routes only" : configuration.files.joined(separator: ", ")
        let sections = [
            ("Policy:", configuration.policy.rules.map { "\($0)" }),
            ("Quiet:", configuration.schedules.map { "\($0)" }),
            (missingHeading, configuration.routes.missingPrograms.map { "\($0)" }),
            ("Replaced:", configuration.replacedFiles.map { "\($0.file), by \($0.replacement)" }),
            (leftOutHeading, configuration.leftOut.map { "\($0)" }),
        ]
        let routes = [("The configuration is good (\(files)). Routes:", configuration.routes.routes.map(\.name))]
        let lines = (routes + sections.filter { !$1.isEmpty }).flatMap { [$0] + $1.map { "  \($0)" } }
        return (ExitStatus.success, lines.joined(separator: "\n"))
    } catch {
        return (ExitStatus.badConfiguration, error.description)
    }
}

extension Logger {
    /// Logs the drop-ins of packages that were left out.
    func recordLeftOut(_ configuration: Configuration) {
        for mistake in configuration.leftOut { record(.dropInLeftOut, ["error": "\(mistake)"]) }
    }
}

/// Gives the journal a new number, and with it a new `Device`: for two machines that share one, because the disk of one
/// was copied.
///
/// - Parameter state: the state directory; `nil`: that of the user.
/// - Returns: the exit code, and the new `Device` or what is wrong.
public func takeNewDevice(state: String?) -> (code: CInt, text: String) {
    let folder = state.map { BaseDirectories.absolute(path: $0) } ?? BaseDirectories().state
    guard access(folder + "/" + Journal.fileName, F_OK) == 0 else {
        return (
            ExitStatus.noJournal,
            "There is no journal in \(folder). The first start of notifyd makes one, with a device of its own."
        )
    }
    do throws(JournalError) {
        let journal = try Journal(directory: folder)
        defer { journal.close() }
        if let seed = journal.seed {
            try journal.makeNewSeed(namingEarlierEvents: GlobalName.source(of: Machine.mix(seed)))
        }
        guard let seed = journal.seed else { throw .damaged }
        return (ExitStatus.success, Machine.mix(seed))
    } catch {
        if error == .inUse {
            return (
                ExitStatus.nameTaken,
                "The journal in \(folder) is in use. Stop notifyd first: systemctl --user stop notifyd-mqtt notifyd"
            )
        }
        return (ExitStatus.systemFailure, "The journal in \(folder) cannot be changed: \(error)")
    }
}
