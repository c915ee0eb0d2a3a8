/// The daemon's properties. Asking for them starts nothing: without a daemon they throw `notReachable`.
extension NotifyClient {
    /// The version of the running daemon.
    public func version() async throws(NotifyError) -> String {
        guard let version = try await property("Version").string else { throw .strangeReply }
        return version
    }

    /// How long claims are awaited where no route says otherwise.
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
        try await link.connection().owner(of: Router.name) != nil
    }

    /// Whether anybody could show a banner now: a notification server on the same bus.
    public func hasNotificationServer() async throws(NotifyError) -> Bool {
        try await link.connection().owner(of: "org.freedesktop.Notifications") != nil
    }

    func property(_ name: String) async throws(NotifyError) -> Value {
        let reply = try await callProperties("Get", [.string(Router.interface), .string(name)])
        guard case .variant(let value)? = reply.arguments.first else { throw .strangeReply }
        return value
    }

    func callProperties(_ member: String, _ arguments: [Value]) async throws(NotifyError) -> Message {
        try await link.connection().call(
            .call(
                member, of: "org.freedesktop.DBus.Properties", at: Router.path, on: Router.name, autoStart: false,
                arguments))
    }
}
