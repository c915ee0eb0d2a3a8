import Glibc
import Logging
import NotifyText
import Systemd
import TOMLTables
import UserFiles
import Watching

/// Keeps the program's objects until the process ends. Only the main thread writes it.
nonisolated(unsafe) private var running: (Focus, EventSource)?

/// The process, from its start to its end.
struct FocusProgram {
    private static let name = "org.notifyd.Focus1"

    let file: RulesFile
    let address: String?
    let logLevel: Logger.Level?

    /// Runs on the calling thread until it is told to stop.
    ///
    /// - Returns: the exit code.
    func run() -> Int32 {
        Memory.keepLargeBlocksApart()
        EventLoop.ignoreFailureSignals()
        EventLoop.blockSignals([SIGTERM, SIGINT, SIGHUP])
        var logger = Logger(label: "notifyd-focus") { ServiceLogHandler(identifier: $0) }
        if let logLevel { logger.logLevel = logLevel }
        do throws(ConfigurationError) {
            return run(try file.read(), logger)
        } catch {
            for line in error.lines { logger.error("The configuration is bad", metadata: ["error": "\(line)"]) }
            return ExitStatus.badConfiguration
        }
    }

    private func run(_ rules: WindowRules, _ logger: Logger) -> Int32 {
        guard let address = address ?? BaseDirectories().sessionBusAddress else {
            logger.error("No session bus is known; set DBUS_SESSION_BUS_ADDRESS, or give --address")
            return ExitStatus.busLost
        }
        let bus: BusConnection
        do throws(SystemdError) {
            bus = try BusConnection(address: address)
        } catch {
            logger.error(
                "The bus cannot be reached; start a session bus, or name another with --address",
                metadata: ["address": "\(address)", "error": "\(error)"])
            return ExitStatus.busLost
        }
        do throws(SystemdError) {
            let loop = try EventLoop()
            let focus = try Focus(rules: rules, file: file, loop: loop, bus: bus, logger: logger)
            try bus.requestName(Self.name)
            try ServiceManager.attach(to: loop)
            try bus.attach(to: loop)
            try focus.start()
            running = (focus, try Memory.releaseAllAfterStart(on: loop))
            logger.info("Started", metadata: ["version": "\(projectVersion)", "configuration": "\(file.path)"])
            ServiceManager.ready(status: focus.line)
            let code = try loop.run()
            bus.flush()
            ServiceManager.finish()
            return code
        } catch  where error.isNameTaken {
            logger.error("Another notifyd-focus runs on this bus", metadata: ["name": "\(Self.name)"])
            return ExitStatus.nameTaken
        } catch {
            logger.error("A system call failed", metadata: ["error": "\(error)"])
            return ExitStatus.systemFailure
        }
    }
}

/// The file with the rules.
struct RulesFile {
    let path: String
    /// Whether it was named on the command line, and so has to exist.
    private let isNamed: Bool

    init(_ path: String?) {
        self.path = path.map { BaseDirectories.absolute(path: $0) } ?? BaseDirectories().configuration + "/focus.toml"
        isNamed = path != nil
    }

    /// Without a file there are no rules.
    func read() throws(ConfigurationError) -> WindowRules {
        guard let text = try ConfigurationText.read(path) else {
            guard !isNamed else {
                throw ConfigurationError(file: path, line: 0, column: 0, reason: "there is no such file")
            }
            if let error = ConfigurationText.brokenLink(above: path) { throw error }
            return WindowRules()
        }
        return try WindowRules.parse(text, file: path)
    }
}
