package import NotifyClient

/// A stand-in for the desktop's notification server, which records all calls and shows nothing.
///
/// It follows the specification unless it is given the quirks of real servers: it replies with ids and reuses them for
/// `replaces_id`, and sends `NotificationClosed` only to the caller of `Notify`, with reason 3 after
/// `CloseNotification`.
///
/// [Desktop notifications](https://specifications.freedesktop.org/notification-spec/latest/)
package final class NotificationServer: Sendable {
    package struct Banner: Sendable {
        /// The id in the reply; 0 if there was no reply.
        package fileprivate(set) var id: UInt32
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
        package let sender: String
        package let arrival: ContinuousClock.Instant
    }

    package struct Close: Sendable {
        package let id: UInt32
        package let sender: String
        package let arrival: ContinuousClock.Instant
    }

    package enum Mode: Sendable, Hashable {
        case normal
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
    package let closes = Mailbox<Close>()

    struct State {
        var mode: Mode
        var capabilities: [String]
        let quirks: Quirks
        var hasBeenAsked = false
        var lastID: UInt32 = 0
        var showing: [UInt32: Banner] = [:]
        /// Calls that a hanging server has not answered.
        var unanswered: [IncomingCall] = []
    }

    private let connection: Connection
    private let state: Locked<State>

    /// Takes the name `org.freedesktop.Notifications` on a bus.
    package static func start(
        on bus: PrivateBus, capabilities: [String] = ["actions", "body"], quirks: Quirks = [], mode: Mode = .normal
    ) async throws(NotifyError) -> NotificationServer {
        let connection = try await Connection.open(bus.address)
        let server = NotificationServer(connection, State(mode: mode, capabilities: capabilities, quirks: quirks))
        connection.export(name) { [weak server] call in server?.handle(call) }
        try await connection.requestName(name)
        return server
    }

    private init(_ connection: Connection, _ state: State) {
        self.connection = connection
        self.state = Locked(state)
    }

    deinit { connection.close() }

    package func stop() { connection.close() }

    /// Gives up the name but stays on the bus.
    package func releaseName() async throws(NotifyError) { try await connection.releaseName(Self.name) }

    /// Takes the name again after `releaseName`, like a restarted server: ids begin at 1, and there are no banners and
    /// no unanswered calls.
    package func takeName() async throws(NotifyError) {
        state.withLock { state in
            state.lastID = 0
            state.showing = [:]
            state.unanswered = []
        }
        try await connection.requestName(Self.name)
    }

    /// When a hanging server becomes normal, it answers the pending calls.
    package func setMode(_ mode: Mode) {
        let unanswered = state.withLock { state in
            state.mode = mode
            defer { if mode == .normal { state.unanswered = [] } }
            return mode == .normal ? state.unanswered : []
        }
        for call in unanswered { answer(call) }
    }

    package func setCapabilities(_ names: [String]) { state.withLock { $0.capabilities = names } }

    package var showing: [Banner] {
        state.withLock { state in state.showing.values.sorted { $0.id < $1.id } }
    }

    /// The user chooses an action.
    ///
    /// - Parameter token: the activation token with which an application may raise its window.
    package func invoke(_ action: String, on id: UInt32, token: String? = nil) {
        guard let banner = state.withLock({ $0.showing[id] }) else { return }
        let quirks = state.withLock(\.quirks)
        if quirks.contains(.closesBeforeAction) { dismiss(id) }
        if let token { grantActivation(token, on: id) }
        say("ActionInvoked", [.uint32(id), .string(action)], to: banner)
        if quirks.contains(.closesAfterAction) { dismiss(id) }
    }

    /// Sends an activation token; some servers do so before the signal of an action.
    package func grantActivation(_ token: String, on id: UInt32) {
        guard let banner = state.withLock({ $0.showing[id] }) else { return }
        say("ActivationToken", [.uint32(id), .string(token)], to: banner)
    }

    package func dismiss(_ id: UInt32) { takeDown(id, .dismissed) }

    package func expire(_ id: UInt32) { takeDown(id, .expired) }

    /// Removes a banner without a signal.
    package func lose(_ id: UInt32) { state.withLock { $0.showing[id] = nil } }

    private func takeDown(_ id: UInt32, _ reason: Reason) {
        guard let banner = state.withLock({ $0.showing.removeValue(forKey: id) }) else { return }
        say("NotificationClosed", [.uint32(id), .uint32(reason.rawValue)], to: banner)
    }

    private func say(_ signal: String, _ arguments: [Value], to banner: Banner) {
        let isForAll = state.withLock { $0.quirks.contains(.broadcastsSignals) }
        connection.send(
            .signal(signal, of: Self.name, at: Self.path, to: isForAll ? nil : banner.sender, arguments))
    }

    // MARK: - Calls

    private func handle(_ call: IncomingCall) {
        switch call.message.member {
        case "Notify": notify(call)
        case "CloseNotification": close(call)
        case "GetCapabilities": sayCapabilities(call)
        case "GetServerInformation":
            call.reply([.string("rehearsal"), .string("notifyd"), .string("1"), .string("1.2")])
        default:
            call.fail("org.freedesktop.DBus.Error.UnknownMethod", "There is no such method here.")
        }
    }

    private func sayCapabilities(_ call: IncomingCall) {
        if state.withLock({ $0.quirks.contains(.hidesCapabilities) }) { return }
        let capabilities = state.withLock { state in
            defer { state.hasBeenAsked = true }
            return state.quirks.contains(.failsFirstCapabilitiesCall) && !state.hasBeenAsked ? nil : state.capabilities
        }
        if let capabilities {
            call.reply([.strings(capabilities)])
        } else {
            call.fail("org.freedesktop.DBus.Error.Failed", "This server cannot say yet what it can do.")
        }
    }

    private func notify(_ call: IncomingCall) {
        guard var banner = Banner(call.message) else {
            call.fail(Self.invalidArguments, "Notify takes susssasa{sv}i.")
            return
        }
        let mode = state.withLock { state in
            if state.mode == .hanging { state.unanswered.append(call) }
            return state.mode
        }
        switch mode {
        case .normal: banner = answer(call) ?? banner
        case .erroring(let name): call.fail(name, "This server was told to fail.")
        case .hanging: break
        case .vanishing: connection.close()
        }
        banners.put(banner)
    }

    /// Shows a banner, or refuses it according to its quirks.
    @discardableResult
    private func answer(_ call: IncomingCall) -> Banner? {
        guard var banner = Banner(call.message) else { return nil }
        let refusal = state.withLock { state -> Refusal? in
            if let refusal = state.refusal(of: banner) { return refusal }
            if banner.replaces == 0 || state.quirks.contains(.renumbers) {
                state.lastID += 1
                banner.id = state.lastID
                state.showing[banner.replaces] = nil
            } else {
                banner.id = banner.replaces
            }
            state.showing[banner.id] = banner
            return nil
        }
        if let refusal {
            call.fail(refusal.name, refusal.text)
        } else {
            answers.put(banner)
            let quirks = state.withLock(\.quirks)
            if quirks.contains(.closesBeforeReply), banner.replaces == 0 {
                if let button = banner.actions.first { invoke(button, on: banner.id) }
                dismiss(banner.id)
            }
            call.reply(
                quirks.contains(.repliesText)
                    ? ["one"] : [.uint32(quirks.contains(.repliesZero) ? 0 : banner.id)])
        }
        return banner
    }

    private func close(_ call: IncomingCall) {
        guard case .uint32(let id)? = call.message.arguments.first, let sender = call.message.sender else {
            call.fail(Self.invalidArguments, "CloseNotification takes u.")
            return
        }
        if state.withLock({ $0.mode }) != .hanging {
            if let refusal = state.withLock({ $0.refusal(toClose: id, for: sender) }) {
                call.fail(refusal.name, refusal.text)
            } else {
                call.reply()
                takeDown(id, .closed)
            }
        }
        closes.put(Close(id: id, sender: sender, arrival: .now))
    }

    static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
}

extension NotificationServer.Banner {
    /// Reads a call of `Notify`; `nil` where it is none.
    fileprivate init?(_ call: Message) {
        let arguments = call.arguments
        guard call.signature == "susssasa{sv}i", let sender = call.sender else { return nil }
        self.init(
            id: 0,
            application: arguments[0].string ?? "",
            replaces: arguments[1].integer() ?? 0,
            icon: arguments[2].string ?? "",
            title: arguments[3].string ?? "",
            body: arguments[4].string ?? "",
            actions: arguments[5].elements?.compactMap(\.string) ?? [],
            hints: arguments[6].entries ?? [:],
            timeout: arguments[7].integer() ?? 0,
            sender: sender,
            arrival: .now)
    }
}

extension NotificationServer {
    /// Behaviour of real servers that differs from the specification.
    package struct Quirks: OptionSet, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// A banner with the same text as a shown one is an error, even if it replaces that one. Plasma allows it after
        /// a second; this server never does, so that no test depends on its speed.
        package static let refusesDuplicates = Quirks(rawValue: 1)
        /// Only the connection that showed a banner may update or close it.
        package static let checksOwnership = Quirks(rawValue: 2)
        /// An update closes the old banner and gets a new id.
        package static let renumbers = Quirks(rawValue: 4)
        /// Closing a banner that is not shown is an error.
        package static let refusesToCloseUnknown = Quirks(rawValue: 8)
        /// Signals are broadcast.
        package static let broadcastsSignals = Quirks(rawValue: 16)
        /// The first call of `GetCapabilities` fails.
        package static let failsFirstCapabilitiesCall = Quirks(rawValue: 32)

        /// It closes a banner when a button is pressed, after the signal of the button.
        package static let closesAfterAction = Quirks(rawValue: 64)
        /// It closes a banner when a button is pressed, before the signal of the button.
        package static let closesBeforeAction = Quirks(rawValue: 128)
        /// It shows a banner and replies with the id 0.
        package static let repliesZero = Quirks(rawValue: 256)
        /// It shows a banner and replies with a string.
        package static let repliesText = Quirks(rawValue: 512)

        /// `GetCapabilities` is never answered.
        package static let hidesCapabilities = Quirks(rawValue: 1024)

        /// The user presses the first button of each new banner, if it has one, and closes it before the server
        /// answers.
        package static let closesBeforeReply = Quirks(rawValue: 2048)

        package static let gnome: Quirks = [.checksOwnership, .refusesToCloseUnknown]
        package static let plasma: Quirks = [.refusesDuplicates]
        package static let mako: Quirks = [.renumbers, .broadcastsSignals, .refusesToCloseUnknown]
    }

    struct Refusal {
        let name: String
        let text: String

        static let repetition = Refusal(
            name: "org.freedesktop.Notifications.Error.ExcessNotificationGeneration",
            text: "Created too many similar notifications in quick succession")
        static let unknown = Refusal(name: invalidArguments, text: "Invalid notification ID")
    }
}

extension NotificationServer.State {
    func refusal(of banner: NotificationServer.Banner) -> NotificationServer.Refusal? {
        if quirks.contains(.refusesDuplicates), showing.values.contains(where: { $0.saysTheSame(as: banner) }) {
            return .repetition
        }
        if quirks.contains(.checksOwnership), banner.replaces != 0, showing[banner.replaces]?.sender != banner.sender {
            return .unknown
        }
        return nil
    }

    func refusal(toClose id: UInt32, for sender: String) -> NotificationServer.Refusal? {
        guard let banner = showing[id] else { return quirks.contains(.refusesToCloseUnknown) ? .unknown : nil }
        return quirks.contains(.checksOwnership) && banner.sender != sender ? .unknown : nil
    }
}

extension NotificationServer.Banner {
    fileprivate func saysTheSame(as other: Self) -> Bool {
        application == other.application && title == other.title && body == other.body && icon == other.icon
            && actions == other.actions && hints["desktop-entry"] == other.hints["desktop-entry"]
    }
}
