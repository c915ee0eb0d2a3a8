import Glibc
package import NotifyClient

/// A real bridge with private folders for configuration and state. After it was stopped or killed it can be started
/// again with the same state.
package final class BridgeProcess: StartedProgram {
    package let folder: TemporaryFolder
    private let executable: String
    private let name: String
    private let address: String
    package let process = Locked<ChildProcess?>(nil)

    /// Prepares a bridge; `launch` and `start` start it.
    ///
    /// - Parameters:
    ///   - executable: the path of the program.
    ///   - name: of the bridge: `mqtt`.
    package init(_ executable: String, name: String, on bus: PrivateBus) throws(RehearsalError) {
        folder = try TemporaryFolder()
        self.executable = executable
        self.name = name
        address = bus.address
    }

    // MARK: Its files

    package func configure(_ text: String) throws(RehearsalError) {
        try folder.write(text, to: "config/notifyd/\(name).toml")
    }

    /// Writes a secret, beside the configuration, that only the user can read.
    package func writeSecret(_ text: String, to name: String) throws(RehearsalError) {
        let path = try folder.write(text, to: "config/notifyd/\(name)")
        guard chmod(path, 0o600) == 0 else { throw RehearsalError("\(path) cannot be made private.") }
    }

    // MARK: Its life

    /// Starts it without waiting for anything.
    ///
    /// - Parameter extra: added to the environment, this time only.
    @discardableResult
    package func launch(
        _ arguments: [String] = [], with extra: [String: String] = [:]
    ) throws(RehearsalError) -> ChildProcess {
        let child = try ChildProcess(
            executable, arguments, environment: ChildProcess.environment(in: folder, on: address, extra),
            capturing: [1, 2], removing: folder.path)
        process.withLock { $0 = child }
        return child
    }

    /// Starts it, and returns when it is connected to its message system.
    package func start(within limit: Duration = .seconds(20), with extra: [String: String] = [:]) async throws {
        try launch(with: extra)
        try await waitUntilConnected(within: limit)
    }

    package func waitUntilConnected(within limit: Duration) async throws {
        let deadline = ContinuousClock.now + limit * Timeouts.factor
        // The state is not a signal of its own; a bridge may also end before it has one.
        while try await property("State")?.string != "connected" {
            if let exit {
                throw RehearsalError("\(executable) ended with \(exit) before it was connected: \(log)")
            }
            guard ContinuousClock.now < deadline else {
                let detail = try await property("Detail")?.string ?? "it is not on the bus"
                throw RehearsalError("\(executable) was not connected within \(limit): \(detail). It said: \(log)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// A property of `org.notifyd.Bridge1`; `nil` while it is not there.
    package func property(_ property: String) async throws(NotifyError) -> Value? {
        let connection = try await Connection.open(address)
        defer { connection.close() }
        let reply = try? await connection.call(
            .call(
                "Get", of: "org.freedesktop.DBus.Properties", at: "/org/notifyd/Bridge1",
                on: "org.notifyd.Bridge.\(name)", autoStart: false, ["org.notifyd.Bridge1", .string(property)]))
        guard let value = reply?.arguments.first else { return nil }
        if case .variant(let inner) = value { return inner }
        return value
    }

    /// The names of the devices that it sees online.
    package func peersOnline() async throws(NotifyError) -> Set<String> {
        let peers = try await property("Peers")?.elements ?? []
        return Set(peers.filter { $0.entries?["online"]?.boolean == true }.compactMap { $0.entries?["name"]?.string })
    }
}
