import Routing
import Systemd

/// The notification server on the session bus.
///
/// The Desktop Notifications Specification, version 1.2, is the contract.
final class BusNotificationLink: NotificationLink {
    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let interface = "org.freedesktop.Notifications"
    /// Timeout of small calls.
    private static let timeout: Duration = .seconds(5)
    /// Timeout of starting a server. The bus gives up after two minutes by default.
    private static let startTimeout: Duration = .seconds(150)
    /// Capabilities that are stored and logged, and their lengths in bytes; real servers have fewer and shorter ones.
    private static let (capabilityLimit, capabilityLength) = (100, 64)

    let bus: String
    private let connection: BusConnection
    private var slots: [BusSlot] = []
    /// The owner of the server's name.
    private var owner: String?
    private var server: NotificationServer?
    private var desktop: DesktopQuiet?

    /// Looks up the server. Create it before the daemon can be called: the first call may be a claim of an event that
    /// the server shows.
    init(bus: BusConnection) throws(SystemdError) {
        connection = bus
        self.bus = try bus.id()
        slots.append(
            try bus.matchOwnerChanges("arg0='\(Self.name)'") { [self] _, name in
                self.owner = name
                desktop?.follow(name)
                server?.ownerChanged(to: name ?? "")
            })
        owner = try bus.owner(of: Self.name)
    }

    // MARK: What comes from it

    /// Connects the daemon's server object with the bus, and reports the current owner.
    func watch(_ server: NotificationServer, _ desktop: DesktopQuiet) throws(SystemdError) {
        self.server = server
        self.desktop = desktop
        desktop.follow(owner)
        try watchSignals(server, from: .owner(of: Self.name) { server.holder })
        server.ownerIs(owner)
    }

    /// Subscribes to the signals about banners. Each begins with the number of the banner.
    private func watchSignals(_ server: NotificationServer, from sender: ExpectedSender) throws(SystemdError) {
        for member in ["NotificationClosed", "ActivationToken", "ActionInvoked"] {
            let rule = "path='\(Self.path)',interface='\(Self.interface)',member='\(member)'"
            slots.append(
                try connection.match(signal: rule, from: sender) { message in
                    guard let id: UInt32 = try? message.readNumber("u"),
                        let signal = try? Self.read(member, message)
                    else { return }
                    server.receive(signal, about: BannerID(id), says: message.sender)
                })
        }
    }

    private static func read(
        _ member: String, _ message: borrowing BusMessage
    ) throws(SystemdError) -> BannerCalls.Signal {
        switch member {
        case "NotificationClosed": .closed(reason: try message.readNumber("u"))
        case "ActivationToken": .token(try message.readString())
        default: .pressed(try message.readString())
        }
    }

    // MARK: What it is asked for

    func start(_ answer: @escaping (BusFailure?) -> Void) {
        let call = connection.busCall("StartServiceByName", about: Self.name)
        call.append(0, as: "u")
        connection.call(call, timeout: Self.startTimeout) { answer($0.failure) }
    }

    func askForCapabilities(
        of server: String, within time: Duration, _ answer: @escaping (Result<Set<String>, BusFailure>) -> Void
    ) {
        desktop?.bannerDue()
        connection.call(call("GetCapabilities", to: server), timeout: time) { [self] message in
            let capabilities = Self.readCapabilities(message)
            guard let desktop else { return answer(capabilities) }
            // A new server may not be to show banners.
            desktop.whenKnown { answer(capabilities) }
        }
    }

    private static func readCapabilities(_ message: borrowing BusMessage) -> Result<Set<String>, BusFailure> {
        if let failure = message.failure { return .failure(failure) }
        guard (try? message.enter("a", "s")) == true else { return .failure(.notUnderstood) }
        var names: Set<String> = []
        while names.count < capabilityLimit, (try? message.peek()) != nil, let name = try? message.readString() {
            if name.utf8.count <= capabilityLength { names.insert(name) }
        }
        return .success(names)
    }

    func notify(
        _ server: String, _ request: BannerRequest, _ text: BannerText, hasButtons: Bool, within time: Duration,
        _ answer: @escaping (Result<BannerID?, BusFailure>) -> Void
    ) {
        let event = request.newest
        let appearance = event.appearance.cleaned
        let message = call("Notify", to: server)
        message.append(request.isSummary ? Self.app : appearance.app ?? Self.app)
        message.append(request.replaces?.rawValue ?? 0, as: "u")
        message.append(request.isSummary ? Self.icon : Self.icon(of: appearance))
        message.append(text.title)
        message.append(text.body)
        message.append(hasButtons ? appearance.actions.flatMap { [$0.key, $0.label] } : [])
        message.appendContainer("a", "{sv}") { hints in
            // Programs that watch the server see by it that this banner has an event.
            hints.appendEntry("x-notifyd", true)
            Self.append(appearance, urgency: request.urgency, to: hints)
        }
        // Rounded up, because 0 means that the banner never expires.
        let timeout = appearance.timeout.map { Int32(clamping: ($0.microseconds + 999) / 1000) }
        message.append(timeout ?? -1, as: "i")
        connection.call(message, timeout: time) { message in
            if let failure = message.failure { return answer(.failure(failure)) }
            let number: UInt32? = try? message.readNumber("u")
            answer(.success(number.flatMap { $0 > 0 ? BannerID($0) : nil }))
        }
    }

    /// The icon of a banner that has no picture of its own. `make install` brings it.
    private static let icon = "org.notifyd"
    /// The application of a banner that names none.
    private static let app = "notifyd"

    private static func icon(of appearance: Appearance) -> String {
        guard appearance.icon.isEmpty else { return address(appearance.icon) }
        return appearance.image == nil && appearance.desktopEntry == nil ? icon : ""
    }

    /// Servers take paths as addresses only.
    private static func address(_ text: String) -> String {
        guard text.hasPrefix("/") else { return text }
        return "file://" + text.percentEncodedPath
    }

    private static func append(_ appearance: Appearance, urgency: Urgency?, to hints: borrowing BusMessage) {
        hints.appendEntry("urgency", urgency?.rawValue, as: "y")
        hints.appendEntry("resident", appearance.resident == true)
        hints.appendEntry("transient", appearance.transient == true)
        hints.appendEntry("category", appearance.category)
        hints.appendEntry("sound-name", appearance.sound)
        hints.appendEntry("desktop-entry", appearance.desktopEntry)
        hints.appendEntry("image-path", appearance.image.map(address))
        // Not in the specification, but dunst, mako, xfce4-notifyd and Plasma draw it as a bar.
        hints.appendEntry("value", appearance.progress.map { Int32($0) }, as: "i")
    }

    /// GNOME's server is a separate program; the shell shows its banners.
    private static let shell = (server: "gnome-shell", name: "org.gnome.Shell")

    func watchOldBanners(of server: String, _ answer: @escaping (String?) -> Void) {
        connection.call(call("GetServerInformation", to: server), timeout: Self.timeout) { [self] message in
            guard message.failure == nil, (try? message.readString()) == Self.shell.server else { return answer(nil) }
            connection.call(connection.busCall("GetNameOwner", about: Self.shell.name), timeout: Self.timeout) {
                [self] message in
                answer(message.failure == nil ? (try? message.readString()).flatMap(watchShell) : nil)
            }
        }
    }

    /// - Returns: the shell's name if the subscription worked. Otherwise the next claim or update finds out.
    private func watchShell(_ shell: String) -> String? {
        guard let server, (try? watchSignals(server, from: .owner(of: Self.shell.name) { shell })) != nil else {
            return nil
        }
        return shell
    }

    func close(_ banner: BannerID, at server: String) {
        let message = call("CloseNotification", to: server)
        message.append(banner.rawValue, as: "u")
        connection.call(message, timeout: Self.timeout) { _ in }
    }

    private func call(_ member: String, to server: String) -> BusMessage {
        connection.methodCall(to: server, path: Self.path, interface: Self.interface, member: member)
    }
}

extension BusFailure {
    fileprivate static let notUnderstood = BusFailure(
        name: "org.freedesktop.DBus.Error.InconsistentMessage", text: "the answer is not what the specification says")
}

extension String {
    /// The path of a file address: RFC 3986 allows no other bytes as they are.
    fileprivate var percentEncodedPath: String {
        utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            let isPlain = scalar.isASCII && (Character(scalar).isLetter || Character(scalar).isNumber)
            if isPlain || "/-._~".unicodeScalars.contains(scalar) { return String(Character(scalar)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }
}
