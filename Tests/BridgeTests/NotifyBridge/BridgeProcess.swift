import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport

/// The bridge of the tutorial as a process, with folders of its own.
final class BridgeProcess: Sendable {
    static let name = "org.notifyd.Bridge.folder"

    let folder: TemporaryFolder
    private let address: String
    private let process = Locked<ChildProcess?>(nil)

    /// - Parameter configuration: the text of its `folder.toml`; `nil`: it takes the files of `dropped`.
    init(on bus: PrivateBus, configuration: String? = nil) throws {
        folder = try TemporaryFolder()
        address = bus.address
        try folder.folder("dropped")
        try configure(configuration ?? "folder = \"\(folder.path)/dropped\"\n")
    }

    func configure(_ text: String) throws { try folder.write(text, to: "config/notifyd/folder.toml") }

    /// Starts it without waiting for anything.
    func launch(_ arguments: [String] = [], with extra: [String: String] = [:]) throws -> ChildProcess {
        var environment = [
            "PATH": ChildProcess.currentEnvironment["PATH"] ?? "/usr/bin:/bin",
            "HOME": folder.path,
            "DBUS_SESSION_BUS_ADDRESS": address,
            "XDG_CONFIG_HOME": folder.path + "/config",
            "XDG_STATE_HOME": folder.path + "/state",
        ]
        environment.merge(ChildProcess.sanitizerEnvironment) { $1 }
        environment.merge(extra) { $1 }
        let child = try ChildProcess(
            BuiltPrograms.folderBridge, arguments, environment: environment, capturing: [1, 2], removing: folder.path)
        process.withLock { $0 = child }
        return child
    }

    /// Starts it, and returns when it owns its name and has answered.
    func start(_ arguments: [String] = [], with extra: [String: String] = [:]) async throws {
        let child = try launch(arguments, with: extra)
        let observer = try await Connection.open(address)
        defer { observer.close() }
        let deadline = ContinuousClock.now + .seconds(20) * Timeouts.factor
        while ContinuousClock.now < deadline {
            if let owner = try await observer.owner(of: Self.name),
                try await observer.process(of: owner) == UInt32(child.identifier),
                try await property("State", observer) != "connecting"
            {
                return
            }
            if let exit = child.exit { throw RehearsalError("The bridge ended with \(exit): \(log)") }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw RehearsalError("The bridge did not start: \(log)")
    }

    private func property(_ name: String, _ connection: Connection) async throws(NotifyError) -> String? {
        try await connection.call(
            .call(
                "Get", of: "org.freedesktop.DBus.Properties", at: "/org/notifyd/Bridge1", on: Self.name,
                autoStart: false,
                ["org.notifyd.Bridge1", .string(name)])
        ).arguments.first?.string
    }

    /// The text of a property.
    func property(_ name: String) async throws -> String? {
        let connection = try await Connection.open(address)
        defer { connection.close() }
        return try await property(name, connection)
    }

    /// What is wrong although it works.
    func problems() async throws -> [String] {
        let connection = try await Connection.open(address)
        defer { connection.close() }
        let answer = try await connection.call(
            .call(
                "Get", of: "org.freedesktop.DBus.Properties", at: "/org/notifyd/Bridge1", on: Self.name,
                autoStart: false, ["org.notifyd.Bridge1", "Problems"]))
        return (answer.arguments.first?.elements ?? []).compactMap { $0.elements?.first?.string }
    }

    var log: String { process.withLock { $0 }?.lines(of: 2).all.joined(separator: "\n") ?? "" }

    /// The lines of its log, to wait for.
    var lines: Mailbox<String> { process.withLock { $0 }?.lines(of: 2) ?? Mailbox() }

    func signal(_ number: CInt) { process.withLock { $0 }?.signal(number) }

    func waitForExit() async -> ChildProcess.Exit? { await process.withLock { $0 }?.waitForExit(within: .seconds(10)) }

    @discardableResult
    func stop() async -> ChildProcess.Exit? {
        signal(SIGTERM)
        return await waitForExit()
    }

    func kill() async {
        signal(SIGKILL)
        _ = await waitForExit()
    }

    // MARK: Files

    /// Drops a file, complete at once.
    func drop(_ name: String, _ text: String = "") throws {
        let file = try folder.write(text, to: "dropped/.\(name).new")
        guard rename(file, folder.path + "/dropped/" + name) == 0 else {
            throw RehearsalError("\(name) cannot be dropped")
        }
    }

    func isThere(_ name: String) -> Bool { access(folder.path + "/dropped/" + name, F_OK) == 0 }
}
