/// The daemon's properties. Reading them does not start the daemon: without one they throw `notReachable`.
extension NotifyClient {
    /// The version of the running daemon.
    public func version() async throws(NotifyError) -> String {
        guard let version = try await property("Version").string else { throw .strangeReply }
        return version
    }

    /// Why the journal cannot be written, as text; empty while it can.
    public func degradation() async throws(NotifyError) -> String {
        guard let words = try await property("Degraded").string else { throw .strangeReply }
        return words
    }

    /// The window of routes that do not set their own.
    public func defaultWindow() async throws(NotifyError) -> Duration {
        let value = try await property("DefaultWindowMilliseconds")
        guard let milliseconds = value.integer(as: UInt32.self) else { throw .strangeReply }
        return .milliseconds(milliseconds)
    }

    /// How many events are undecided now.
    public func pending() async throws(NotifyError) -> Int {
        guard let pending: Int = try await property("Pending").integer() else { throw .strangeReply }
        return pending
    }

    /// Counters since the daemon's start, by name.
    public func statistics() async throws(NotifyError) -> [String: UInt64] {
        guard let entries = try await property("Statistics").entries else { throw .strangeReply }
        return entries.compactMapValues { $0.integer() }
    }

    /// All properties by name, including those this version of the library does not know.
    public func properties() async throws(NotifyError) -> [String: Value] {
        let reply = try await callProperties("GetAll", [.string(Router.interface)])
        guard let entries = reply.arguments.first?.entries else { throw .strangeReply }
        return entries
    }

    /// Whether the daemon is on the bus now.
    public func isDaemonRunning() async throws(NotifyError) -> Bool {
        try await connections.connection().owner(of: Router.name) != nil
    }

    /// Whether there is a notification server on the same bus.
    public func hasNotificationServer() async throws(NotifyError) -> Bool {
        try await connections.connection().owner(of: "org.freedesktop.Notifications") != nil
    }

    /// The process id of a connection; `nil` if the bus does not know it, or the connection is gone.
    package func process(of name: String) async -> UInt32? {
        try? await connections.connection().process(of: name)
    }

    func property(_ name: String) async throws(NotifyError) -> Value {
        let reply = try await callProperties("Get", [.string(Router.interface), .string(name)])
        guard case .variant(let value)? = reply.arguments.first else { throw .strangeReply }
        return value
    }

    func callProperties(_ member: String, _ arguments: [Value]) async throws(NotifyError) -> Message {
        try await connections.connection().call(
            .call(
                member, of: "org.freedesktop.DBus.Properties", at: Router.path, on: Router.name, autoStart: false,
                arguments))
    }
}
