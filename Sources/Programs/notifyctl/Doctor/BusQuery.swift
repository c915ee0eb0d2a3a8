import NotifyClient

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

    /// All properties of an interface; empty if they cannot be read.
    func properties(_ name: String, _ path: String, _ interface: String) async -> [String: Value] {
        let answer = try? await ask(name, path, "org.freedesktop.DBus.Properties", "GetAll", [.string(interface)])
        return answer?.first?.entries ?? [:]
    }

    /// The unique name of the owner of a name, or `nil`.
    func owner(of name: String) async -> String? {
        try? await ask(Bus.name, Bus.path, Bus.interface, "GetNameOwner", [.string(name)]).first?.string
    }

    /// The process id of the owner of a name.
    func process(of name: String) async -> Int? {
        try? await ask(Bus.name, Bus.path, Bus.interface, "GetConnectionUnixProcessID", [.string(name)])
            .first?.integer()
    }

    /// The names for which the bus can start a program.
    func activatable() async -> [String] {
        let answer = try? await ask(Bus.name, Bus.path, Bus.interface, "ListActivatableNames")
        return answer?.first?.elements?.compactMap(\.string) ?? []
    }
}
