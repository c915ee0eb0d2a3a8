import NotifyClient

/// Asks services on a bus. Nothing is started by asking, and one that hangs is a finding, not a reason to hang as well.
struct Inquiry {
    static let patience: Duration = .seconds(2)

    let connection: Connection

    func ask(
        _ name: String, _ path: String, _ interface: String, _ member: String, _ arguments: [Value] = []
    ) async throws(NotifyError) -> [Value] {
        try await connection.call(
            .call(member, of: interface, at: path, on: name, autoStart: false, arguments), timeout: Self.patience
        ).arguments
    }

    /// All properties of an interface; none where they cannot be had.
    func properties(_ name: String, _ path: String, _ interface: String) async -> [String: Value] {
        let answer = try? await ask(name, path, "org.freedesktop.DBus.Properties", "GetAll", [.string(interface)])
        return answer?.first?.entries ?? [:]
    }

    /// The unique name of who owns a name, or `nil`.
    func owner(of name: String) async -> String? {
        try? await ask(Bus.name, Bus.path, Bus.interface, "GetNameOwner", [.string(name)]).first?.string
    }

    /// The process behind a name.
    func process(of name: String) async -> Int? {
        try? await ask(Bus.name, Bus.path, Bus.interface, "GetConnectionUnixProcessID", [.string(name)])
            .first?.integer()
    }

    /// The names the bus can start a program for.
    func activatable() async -> [String] {
        let answer = try? await ask(Bus.name, Bus.path, Bus.interface, "ListActivatableNames")
        return answer?.first?.elements?.compactMap(\.string) ?? []
    }
}
