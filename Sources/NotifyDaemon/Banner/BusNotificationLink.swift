import Logging
import Routing
import Systemd

/// The notification server as it is reached over the session bus.
///
/// The Desktop Notifications Specification, version 1.2, is the contract.
final class BusNotificationLink: NotificationLink {
    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let interface = "org.freedesktop.Notifications"
    /// How long the answer to a small question is awaited.
    private static let patience: Duration = .seconds(5)
    /// How long a server may take to start. The bus gives up after two minutes by default.
    private static let startingTime: Duration = .seconds(150)
    /// No server has as many, and they are kept and logged.
    private static let mostCapabilities = 100

    let bus: String
    private let connection: BusConnection
    private let logger: Logger
    private var slots: [BusSlot] = []
    /// The unique name of the owner of the server's name, as the bus says.
    private var owner: String?
    private unowned var server: NotificationServer?

    /// Finds out who the server is. To be made before the daemon can be called: the first call may be a claim of what that
    /// server shows.
    init(bus: BusConnection, logger: Logger) throws(SystemdError) {
        connection = bus
        self.bus = try bus.id()
        self.logger = logger
        slots.append(
            try bus.matchOwners("arg0='\(Self.name)'") { [unowned self] _, name in
                self.owner = name
                server?.ownerChanged(to: name ?? "")
            })
        owner = try bus.owner(of: Self.name)
    }

    // MARK: What comes from it

    /// Begins to tell a server of the daemon what comes from the bus. What is there already is found too.
    func watch(_ server: NotificationServer) throws(SystemdError) {
        self.server = server
        try hear(server, from: .owner(of: Self.name) { [unowned server] in server.holder })
        server.ownerIs(owner)
    }

    /// Hands what is said about banners to a server of the daemon.
    private func hear(_ server: NotificationServer, from speaker: Speaker) throws(SystemdError) {
        try hear("NotificationClosed", from: speaker) { [unowned server] message in
            guard let id: UInt32 = try? message.readNumber("u"), let reason: UInt32 = try? message.readNumber("u")
            else { return }
            server.closed(BannerID(id), reason: reason, says: message.sender)
        }
        try hear("ActivationToken", from: speaker) { [unowned server] message in
            guard let id: UInt32 = try? message.readNumber("u"), let token = try? message.readString() else { return }
            server.activationGranted(BannerID(id), token, says: message.sender)
        }
        try hear("ActionInvoked", from: speaker) { [unowned server] message in
            guard let id: UInt32 = try? message.readNumber("u"), let key = try? message.readString() else { return }
            server.actionInvoked(BannerID(id), key, says: message.sender)
        }
    }

    private func hear(
        _ signal: String, from speaker: Speaker, _ action: @escaping (borrowing BusMessage) -> Void
    ) throws(SystemdError) {
        slots.append(
            try connection.match(
                signal: "path='\(Self.path)',interface='\(Self.interface)',member='\(signal)'", from: speaker, action))
    }

    // MARK: What it is asked for

    func start(_ answer: @escaping (BusFailure?) -> Void) {
        let call = connection.question("StartServiceByName", about: Self.name)
        call.append(0, as: "u")
        send(call, within: Self.startingTime) { answer($0.failure) }
    }

    func askForCapabilities(
        of server: String, within time: Duration, _ answer: @escaping (Result<Set<String>, BusFailure>) -> Void
    ) {
        send(call("GetCapabilities", to: server), within: time) { message in
            if let failure = message.failure { return answer(.failure(failure)) }
            guard (try? message.enter("a", "s")) == true else { return answer(.failure(.notUnderstood)) }
            var names: Set<String> = []
            while names.count < Self.mostCapabilities, (try? message.peek()) != nil,
                let name = try? message.readString()
            {
                names.insert(name)
            }
            answer(.success(names))
        }
    }

    func notify(
        _ server: String, _ request: BannerRequest, _ text: BannerText, hasButtons: Bool, within time: Duration,
        _ answer: @escaping (Result<BannerID?, BusFailure>) -> Void
    ) {
        let event = request.newest
        let appearance = event.route.appearance
        let message = call("Notify", to: server)
        message.append("notifyd")
        message.append(request.replaces?.rawValue ?? 0, as: "u")
        message.append(request.isSummary ? "" : appearance.icon)
        message.append(text.title)
        message.append(text.body)
        message.append(hasButtons ? appearance.actions.flatMap { [$0.key, $0.label] } : [])
        message.appendContainer("a", "{sv}") { hints in
            Self.append(hintsOf: event, to: hints)
        }
        // Rounded up: 0 would mean for ever.
        let timeout = appearance.timeout.map { Int32(clamping: ($0.microseconds + 999) / 1000) }
        message.append(timeout ?? -1, as: "i")
        send(message, within: time) { message in
            if let failure = message.failure { return answer(.failure(failure)) }
            let number: UInt32? = try? message.readNumber("u")
            answer(.success(number.flatMap { $0 > 0 ? BannerID($0) : nil }))
        }
    }

    private static func append(hintsOf event: Event, to hints: borrowing BusMessage) {
        let appearance = event.route.appearance
        if let urgency = event.urgency ?? appearance.urgency {
            hints.appendEntry("urgency", "y") { $0.append(urgency.rawValue, as: "y") }
        }
        if appearance.resident { hints.appendEntry("resident", "b") { $0.append(true) } }
        for (name, value) in [
            ("category", appearance.category), ("sound-name", appearance.sound),
            ("desktop-entry", appearance.desktopEntry),
        ] {
            guard let value else { continue }
            hints.appendEntry(name, "s") { $0.append(value) }
        }
    }

    /// GNOME's server is a program of its own, which shows nothing by itself: the shell does.
    private static let shell = (server: "gnome-shell", name: "org.gnome.Shell")

    func hearOldBanners(of server: String, _ answer: @escaping (String?) -> Void) {
        send(call("GetServerInformation", to: server), within: Self.patience) { [unowned self] message in
            guard message.failure == nil, (try? message.readString()) == Self.shell.server else { return answer(nil) }
            let question = connection.methodCall(
                to: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
                member: "GetNameOwner")
            question.append(Self.shell.name)
            send(question, within: Self.patience) { [unowned self] message in
                answer(message.failure == nil ? (try? message.readString()).flatMap(hearShell) : nil)
            }
        }
    }

    /// - Returns: the shell's name, where it is heard. What is not heard is found out by the next claim or update.
    private func hearShell(_ shell: String) -> String? {
        guard let server, (try? hear(server, from: .owner(of: Self.shell.name) { shell })) != nil else { return nil }
        return shell
    }

    func close(_ banner: BannerID, at server: String) {
        let message = call("CloseNotification", to: server)
        message.append(banner.rawValue, as: "u")
        send(message, within: Self.patience) { _ in }
    }

    private func call(_ member: String, to server: String) -> BusMessage {
        connection.methodCall(to: server, path: Self.path, interface: Self.interface, member: member)
    }

    private func send(
        _ call: consuming BusMessage, within time: Duration, _ answer: @escaping (borrowing BusMessage) -> Void
    ) {
        do throws(SystemdError) {
            try connection.call(call, timeout: time, answer)
        } catch {
            // Only a bus that is gone takes no calls, and then the daemon ends.
            logger.record(.messageNotSent, ["error": "\(error)"])
        }
    }
}

extension BusFailure {
    fileprivate static let notUnderstood = BusFailure(
        name: "org.freedesktop.DBus.Error.InconsistentMessage", text: "the answer is not what the specification says")
}
