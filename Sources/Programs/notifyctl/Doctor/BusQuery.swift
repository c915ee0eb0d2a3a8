import NotifyClient
import NotifyJSON

/// Calls services on a bus with a short timeout and without starting them.
struct BusQuery {
    static let timeout: Duration = .seconds(2)

    let connection: Connection

    func ask(
        _ name: String, _ path: String, _ interface: String, _ member: String, _ arguments: [Value] = []
    ) async throws(NotifyError) -> [Value] {
        try await connection.call(
            .call(member, of: interface, at: path, on: name, autoStart: false, arguments), timeout: Self.timeout
        ).arguments
    }

    /// The error with which notifyd answers if it is on the bus only to report a bad configuration.
    func badConfiguration() async -> NotifyError? {
        do throws(NotifyError) {
            _ = try await connection.call(.toProperties("GetAll"), timeout: Self.timeout)
            return nil
        } catch {
            return error.name == NotifyError.badConfiguration ? error : nil
        }
    }

    /// All properties of an interface; empty if they cannot be read.
    func properties(_ name: String, _ path: String, _ interface: String) async -> [String: Value] {
        let answer = try? await ask(name, path, "org.freedesktop.DBus.Properties", "GetAll", [.string(interface)])
        return answer?.first?.entries ?? [:]
    }

    /// The unique name of the owner of a name, or `nil`.
    func owner(of name: String) async -> String? {
        try? await askBus("GetNameOwner", [.string(name)])?.string
    }

    func process(of name: String) async -> Int? {
        try? await askBus("GetConnectionUnixProcessID", [.string(name)])?.integer()
    }

    /// The names for which the bus can start a program.
    func activatable() async -> [String] {
        (try? await askBus("ListActivatableNames"))?.elements?.compactMap(\.string) ?? []
    }

    /// All names on the bus.
    func names() async -> [String] { (try? await askBus("ListNames"))?.elements?.compactMap(\.string) ?? [] }

    private func askBus(_ member: String, _ arguments: [Value] = []) async throws(NotifyError) -> Value? {
        try await connection.call(.toBus(member, arguments), timeout: Self.timeout).arguments.first
    }

    /// The `PATH` with which notifyd looks for the programs of buttons: that of the service manager if it starts
    /// notifyd, else that of the running notifyd; `nil` if neither is there.
    func pathOfButtons() async -> String? {
        let (process, (unit, service)) = (await process(of: Router.name), await UnitCheck.ask(self))
        guard process == nil ? unit.loadState == "loaded" : process == service["MainPID"]?.integer() else {
            return process.flatMap(ProcessFacts.environment)?["PATH"]
        }
        return await managerEnvironment()?["PATH"]
    }

    /// The variables that the service manager gives to what it starts; `nil` without one.
    func managerEnvironment() async -> [String: String]? {
        let name = UnitCheck.manager
        let lines = await properties(name, "/org/freedesktop/systemd1", "\(name).Manager")["Environment"]?.elements
        return lines.map { ProcessFacts.variables($0.compactMap(\.string)) }
    }

    func askManager(_ member: String, _ arguments: [Value]) async throws(NotifyError) -> Value? {
        let name = UnitCheck.manager
        return try await ask(name, "/org/freedesktop/systemd1", "\(name).Manager", member, arguments).first
    }
}

extension BusOptions {
    /// Connects to the bus; notifyd need not be there.
    func withQuery<Result>(_ body: (BusQuery) async throws -> Result) async throws -> Result {
        try await BusQuery.run(at: address, body)
    }
}

extension BusQuery {
    /// Connects to the bus for as long as `body` runs.
    ///
    /// - Parameter address: `nil`: the session bus.
    static func run<Result>(
        at address: String?, _ body: (BusQuery) async throws -> Result
    ) async throws -> Result {
        guard let address = address ?? NotifyClient.sessionBusAddress else {
            throw NotifyError.noSessionBus
        }
        let connection = try await Connection.open(address)
        defer { connection.close() }
        return try await body(BusQuery(connection: connection))
    }
}
