import Glibc
package import NotifyClient

/// A real `notifyd` with private folders for configuration, state and run time. After it was stopped or killed it can
/// be started again with the same state.
package final class DaemonProcess: StartedProgram {
    package let folder: TemporaryFolder
    private let executable: String
    private let arguments: [String]
    package let environment: [String: String]
    private let address: String
    package let process = Locked<ChildProcess?>(nil)

    /// Prepares a daemon; `start` starts it.
    ///
    /// - Parameters:
    ///   - executable: the path of a `notifyd`.
    ///   - configuration: the text of its `config.toml`.
    ///   - systemBus: the address of a system bus; if `nil`, there is none, so that results do not depend on whether
    ///     the session of the user is locked.
    ///   - environment: in addition to the folders and the buses.
    package init(
        _ executable: String, on bus: PrivateBus, configuration: String = "", arguments: [String] = [],
        systemBus: String? = nil, environment extra: [String: String] = [:]
    ) throws(RehearsalError) {
        folder = try TemporaryFolder()
        self.executable = executable
        self.arguments = arguments
        address = bus.address
        for name in ["config", "data", "runtime", "state", "xdg"] { try folder.folder(name) }
        // The routes of installed packages do not count here.
        environment = ChildProcess.environment(
            in: folder, on: bus.address,
            [
                "DBUS_SYSTEM_BUS_ADDRESS": systemBus ?? "unix:path=\(folder.path)/no-system-bus",
                "XDG_CONFIG_DIRS": folder.path + "/xdg", "XDG_DATA_DIRS": folder.path + "/data",
                "XDG_RUNTIME_DIR": folder.path + "/runtime",
            ].merging(extra) { $1 })
        try configure(configuration)
    }

    package static func start(
        _ executable: String, on bus: PrivateBus, configuration: String = "", arguments: [String] = [],
        systemBus: String? = nil, environment: [String: String] = [:], within limit: Duration = .seconds(10)
    ) async throws -> DaemonProcess {
        let daemon = try DaemonProcess(
            executable, on: bus, configuration: configuration, arguments: arguments, systemBus: systemBus,
            environment: environment)
        try await daemon.start(within: limit)
        return daemon
    }

    /// Writes the configuration file. A running daemon reads it on SIGHUP.
    package func configure(_ text: String) throws(RehearsalError) {
        try folder.write(text, to: "config/notifyd/config.toml")
    }

    /// Starts the daemon, and returns when it owns its name.
    ///
    /// - Parameter extra: added to the environment, this time only.
    package func start(within limit: Duration = .seconds(10), with extra: [String: String] = [:]) async throws {
        enum Step: Sendable { case ownerChanged, ended }
        let steps = Mailbox<Step>()
        let observer = try await Connection.open(address, onSignal: { _ in steps.put(.ownerChanged) })
        defer { observer.close() }
        try await observer.addMatch(.ownerChanged(of: Router.name))
        let deadline = ContinuousClock.now + limit * Timeouts.factor
        // A busy bus may not know yet that the previous process has ended, and would report that the name is taken.
        while let before = process.withLock({ $0 }), before.exit != nil,
            let owner = try await observer.owner(of: Router.name),
            try await observer.process(of: owner) == UInt32(before.identifier)
        {
            guard await steps.next(within: deadline - .now) != nil else { break }
        }

        let child = try ChildProcess(
            executable, arguments, environment: environment.merging(extra) { $1 }, capturing: [1, 2],
            removing: folder.path)
        process.withLock { $0 = child }
        let watcher = Task {
            if await child.waitForExit(within: limit) != nil { steps.put(.ended) }
        }
        defer { watcher.cancel() }
        while true {
            // After a crash the bus may still know the previous owner.
            let owner = try await observer.owner(of: Router.name)
            if let owner, try await observer.process(of: owner) == UInt32(child.identifier) { return }
            switch await steps.next(within: deadline - .now) {
            case .ownerChanged: continue
            case .ended:
                let end = child.exit.map { " with \($0)" } ?? ""
                throw RehearsalError("\(executable) ended\(end) before it was ready\(logWords)")
            case nil:
                child.signal(SIGKILL)
                throw RehearsalError("\(executable) did not take its name within \(limit)\(logWords)")
            }
        }
    }

    private var logWords: String { log.isEmpty ? ", and wrote nothing." : ": \(log)" }

    /// Ends it, as a crash does or in order, and starts it again.
    package func restart(inOrder: Bool = false, with extra: [String: String] = [:]) async throws {
        if inOrder { await stop() } else { await kill() }
        try await start(with: extra)
    }
}
