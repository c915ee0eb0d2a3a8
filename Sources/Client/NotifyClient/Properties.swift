/// The daemon's properties. Reading them does not start the daemon: without one they throw `notReachable`.
extension NotifyClient {
    /// The version of the running daemon.
    public func version() async throws(NotifyError) -> String { try await version(within: Connection.usualTimeout) }

    package func version(within limit: Duration) async throws(NotifyError) -> String {
        try await connections.connection().call(.toProperties("Get", ["Version"]), timeout: limit).result(\.string)
    }

    /// Why the journal cannot be written, as text; empty while it can.
    public func degradation() async throws(NotifyError) -> String { try await property("Degraded", \.string) }

    /// The name of the daemon's journal on this machine, 32 hexadecimal digits; empty while the journal cannot be read.
    /// A new journal has a new name.
    public func device() async throws(NotifyError) -> String { try await property("Device", \.string) }

    /// The window of routes that do not set their own.
    public func defaultWindow() async throws(NotifyError) -> Duration {
        try await property("DefaultWindowMilliseconds") { $0.integer(as: UInt32.self).map { .milliseconds($0) } }
    }

    /// How many events are undecided now.
    public func pending() async throws(NotifyError) -> Int { try await property("Pending") { $0.integer() } }

    /// Counters since the daemon's start, by name.
    public func statistics() async throws(NotifyError) -> [String: UInt64] {
        try await property("Statistics", \.entries).compactMapValues { $0.integer() }
    }

    /// All properties by name, including those this version of the library does not know.
    public func properties() async throws(NotifyError) -> [String: Value] {
        try await connections.connection().call(.toProperties("GetAll")).result(\.entries)
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

    func property<Content>(_ name: String, _ read: (Value) -> Content?) async throws(NotifyError) -> Content {
        try await connections.connection().call(.toProperties("Get", [.string(name)])).result(read)
    }
}
