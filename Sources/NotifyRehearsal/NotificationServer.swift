package import NotifyClient

/// A stand-in for the desktop's notification server, which shows nothing and remembers everything.
///
/// It behaves as the specification says where real servers differ: ids are answered and reused for `replaces_id`,
/// `NotificationClosed` goes to the caller of `Notify` alone, with reason 3 after `CloseNotification`.
///
/// [Desktop notifications](https://specifications.freedesktop.org/notification-spec/latest/)
package final class NotificationServer: Sendable {
    /// One call of `Notify`.
    package struct Banner: Sendable {
        /// What was answered; 0 when no answer was given.
        package let id: UInt32
        package let application: String
        package let replaces: UInt32
        package let icon: String
        package let title: String
        package let body: String
        /// Key, label, key, label, …
        package let actions: [String]
        package let hints: [String: Value]
        /// Milliseconds; -1: the server decides, 0: never.
        package let timeout: Int32
        /// The caller's unique name.
        package let sender: String
        package let arrival: ContinuousClock.Instant
    }

    /// One call of `CloseNotification`.
    package struct Close: Sendable {
        package let id: UInt32
        package let sender: String
        package let arrival: ContinuousClock.Instant
    }

    /// What happens to a call of `Notify`.
    package enum Mode: Sendable, Hashable {
        case normal
        /// Answers with this D-Bus error.
        case erroring(name: String)
        /// Does not answer, until the mode is normal again.
        case hanging
        /// Leaves the bus instead of answering.
        case vanishing
    }

    package enum Reason: UInt32, Sendable {
        case expired = 1
        case dismissed, closed, undefined
    }

    package static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"

    /// Every `Notify`, in whatever mode.
    package let banners = Mailbox<Banner>()
    /// Every `Notify` that was answered with an id, when it was.
    package let answers = Mailbox<Banner>()
    /// Every `CloseNotification`.
    package let closes = Mailbox<Close>()

    private struct State {
        var mode: Mode
        var capabilities: [String]
        var lastID: UInt32 = 0
        var showing: [UInt32: Banner] = [:]
        /// What a hanging server has not answered.
        var unanswered: [IncomingCall] = []
    }

    private let connection: Connection
    private let state: Guarded<State>

    /// Takes the name `org.freedesktop.Notifications` on a bus.
    package static func start(
        on bus: PrivateBus, capabilities: [String] = ["actions", "body"], mode: Mode = .normal
    ) async throws(NotifyError) -> NotificationServer {
        let connection = try await Connection.open(bus.address)
        let server = NotificationServer(connection, State(mode: mode, capabilities: capabilities))
        connection.export(name) { [weak server] call in server?.handle(call) }
        try await connection.requestName(name)
        return server
    }

    private init(_ connection: Connection, _ state: State) {
        self.connection = connection
        self.state = Guarded(state)
    }

    deinit { connection.close() }

    /// Leaves the bus.
    package func stop() { connection.close() }

    /// Gives up the name but stays on the bus.
    package func releaseName() async throws(NotifyError) { try await connection.releaseName(Self.name) }

    /// A server that hung and is normal again answers what it had not answered.
    package func setMode(_ mode: Mode) {
        let unanswered = state.withLock { state in
            state.mode = mode
            defer { if mode == .normal { state.unanswered = [] } }
            return mode == .normal ? state.unanswered : []
        }
        for call in unanswered {
            guard let banner = takeIn(call) else { continue }
            answers.put(banner)
            call.reply([.uint32(banner.id)])
        }
    }

    package func setCapabilities(_ names: [String]) { state.withLock { $0.capabilities = names } }

    /// What a user would see now.
    package var showing: [Banner] {
        state.withLock { state in state.showing.values.sorted { $0.id < $1.id } }
    }

    /// The user chooses an action.
    package func invoke(_ action: String, on id: UInt32) {
        guard let banner = state.withLock({ $0.showing[id] }) else { return }
        connection.send(
            .signal(
                "ActionInvoked", of: Self.name, at: Self.path, to: banner.sender, [.uint32(id), .string(action)]))
    }

    /// The user closes a banner.
    package func dismiss(_ id: UInt32) { takeDown(id, .dismissed) }

    /// A banner has been up long enough.
    package func expire(_ id: UInt32) { takeDown(id, .expired) }

    private func takeDown(_ id: UInt32, _ reason: Reason) {
        guard let banner = state.withLock({ $0.showing.removeValue(forKey: id) }) else { return }
        connection.send(
            .signal(
                "NotificationClosed", of: Self.name, at: Self.path, to: banner.sender,
                [.uint32(id), .uint32(reason.rawValue)]))
    }

    // MARK: - Calls

    private func handle(_ call: IncomingCall) {
        switch call.message.member {
        case "Notify": notify(call)
        case "CloseNotification": close(call)
        case "GetCapabilities": call.reply([.strings(state.withLock { $0.capabilities })])
        case "GetServerInformation":
            call.reply([.string("rehearsal"), .string("notifyd"), .string("1"), .string("1.2")])
        default:
            call.fail("org.freedesktop.DBus.Error.UnknownMethod", "There is no such method here.")
        }
    }

    private func notify(_ call: IncomingCall) {
        guard let banner = takeIn(call) else {
            call.fail("org.freedesktop.DBus.Error.InvalidArgs", "Notify takes susssasa{sv}i.")
            return
        }
        switch state.withLock({ $0.mode }) {
        case .normal:
            answers.put(banner)
            call.reply([.uint32(banner.id)])
        case .erroring(let name): call.fail(name, "This server was told to fail.")
        case .hanging: state.withLock { $0.unanswered.append(call) }
        case .vanishing: connection.close()
        }
        banners.put(banner)
    }

    /// Reads a call of `Notify`, and gives the banner its id and its place where the server is well.
    private func takeIn(_ call: IncomingCall) -> Banner? {
        let arguments = call.message.arguments
        guard call.message.signature == "susssasa{sv}i", let sender = call.message.sender else { return nil }
        let replaces: UInt32 = arguments[1].integer() ?? 0
        return state.withLock { state in
            var id: UInt32 = 0
            if state.mode == .normal {
                if replaces == 0 { state.lastID += 1 }
                id = replaces == 0 ? state.lastID : replaces
            }
            let banner = Banner(
                id: id,
                application: arguments[0].string ?? "",
                replaces: replaces,
                icon: arguments[2].string ?? "",
                title: arguments[3].string ?? "",
                body: arguments[4].string ?? "",
                actions: arguments[5].elements?.compactMap(\.string) ?? [],
                hints: arguments[6].entries ?? [:],
                timeout: arguments[7].integer() ?? 0,
                sender: sender,
                arrival: .now)
            if id != 0 { state.showing[id] = banner }
            return banner
        }
    }

    private func close(_ call: IncomingCall) {
        guard case .uint32(let id)? = call.message.arguments.first, let sender = call.message.sender else {
            call.fail("org.freedesktop.DBus.Error.InvalidArgs", "CloseNotification takes u.")
            return
        }
        if state.withLock({ $0.mode }) != .hanging {
            call.reply()
            takeDown(id, .closed)
        }
        closes.put(Close(id: id, sender: sender, arrival: .now))
    }
}
