import Logging
import Routing
import Systemd

/// The desktop's notification server as the daemon deals with it: who it is, what it can do, and calls that never wait.
///
/// The Desktop Notifications Specification, version 1.2, is the contract. The server is addressed by its unique name, so
/// that an answer and a number always belong to the same server; when the name changes hands, everything is forgotten.
final class NotificationServer {
    static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let interface = "org.freedesktop.Notifications"
    /// How long the answer to a small question is awaited. It never keeps anybody waiting: calls are asynchronous.
    private static let patience: Duration = .seconds(5)
    /// How long an answer on the way to a banner is understood. The router gives a call up much earlier, but wants to hear
    /// of a banner that appears after all.
    private static let memory: Duration = .seconds(300)
    /// How long what the server can do is taken for granted, in microseconds. Some take a new configuration while they run,
    /// and then understand markup that they did not understand before.
    private static let freshness: Int64 = 1_000_000

    /// What comes from the server goes into the router by this way.
    var onInput: (Input) -> Void = { _ in }
    /// Called when it is known that there is a server, or that there is none.
    var onChange: () -> Void = {}

    private let bus: BusConnection
    private let logger: Logger
    private var slots: [BusSlot] = []
    /// The unique name of the server, once it has said what it can do.
    private(set) var owner: String?
    private var capabilities: Set<String> = []
    /// When the server last said what it can do, on the monotonic clock; `nil` where this one never did.
    private var capabilitiesKnownSince: Int64?
    /// Banners that wait until the server has said once more what it can do, in their order.
    private var unsent: [(request: BannerRequest, text: BannerText)] = []
    private var askedAt: Int64 = 0
    /// The unique name of the server that is being asked what it can do.
    private var candidate: String?
    /// What lets an application raise its window; it comes just before the signal `ActionInvoked`.
    private var activation: (banner: BannerID, token: String)?

    init(bus: BusConnection, logger: Logger) {
        self.bus = bus
        self.logger = logger
    }

    // MARK: Who it is

    /// Begins to watch for the server. What is there already is found too.
    func watch() throws(SystemdError) {
        slots.append(
            try bus.match(
                "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                    + "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.name)'"
            ) { [unowned self] message in
                guard (try? message.skip("ss")) != nil, let new = try? message.readString() else { return }
                ownerChanged(to: new)
            })
        try hear("NotificationClosed") { [unowned self] message in closed(message) }
        try hear("ActivationToken") { [unowned self] message in activationGranted(message) }
        try hear("ActionInvoked") { [unowned self] message in actionInvoked(message) }
        let question = bus.methodCall(
            to: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
            member: "GetNameOwner")
        question.append(Self.name)
        try bus.call(question, timeout: Self.patience) { [unowned self] answer in
            guard owner == nil, candidate == nil else { return }
            if answer.failure == nil, let name = try? answer.readString() {
                ownerChanged(to: name)
            } else {
                logger.record(.noServer)
            }
        }
    }

    private func hear(_ signal: String, _ action: @escaping (borrowing BusMessage) -> Void) throws(SystemdError) {
        slots.append(
            try bus.match(
                "type='signal',sender='\(Self.name)',path='\(Self.path)',interface='\(Self.interface)',"
                    + "member='\(signal)'", action))
    }

    private func ownerChanged(to name: String) {
        if owner != nil {
            owner = nil
            activation = nil
            unsent = []
            onInput(.serverVanished)
            onChange()
            if name.isEmpty {
                logger.record(.serverLeft)
            }
        }
        candidate = name.isEmpty ? nil : name
        guard let candidate else { return }
        send(call("GetCapabilities", to: candidate)) { [unowned self] answer in
            guard self.candidate == candidate else { return }
            self.candidate = nil
            // A server that cannot say what it can do gets plain text and no buttons, until it can.
            capabilities = []
            capabilitiesKnownSince = nil
            learnCapabilities(answer)
            owner = candidate
            logger.record(
                .server,
                ["server": "\(candidate)", "capabilities": "\(capabilities.sorted().joined(separator: ","))"])
            onInput(.serverAppeared)
            onChange()
        }
    }

    private func learnCapabilities(_ answer: borrowing BusMessage) {
        guard answer.failure == nil, (try? answer.enter("a", "s")) == true else { return }
        capabilities = []
        while (try? answer.peek()) != nil, let name = try? answer.readString() { capabilities.insert(name) }
        capabilitiesKnownSince = Clock.monotonic()
    }

    // MARK: What it is asked for

    func show(_ request: BannerRequest, _ text: BannerText) {
        guard let owner else { return onInput(.bannerFailed(request.call, .noAnswer)) }
        // Some servers take buttons at some times and not at others, so they are always asked before there are any.
        let hasButtons = !request.newest.route.appearance.actions.isEmpty && !request.isSummary
        let now = Clock.monotonic()
        let isKnown = !hasButtons && capabilitiesKnownSince.map { now - $0 < Self.freshness } ?? false
        if isKnown, unsent.isEmpty { return notify(owner, request, text) }
        unsent.append((request, text))
        // One answer does for all that wait for it; a question that got none is asked again.
        guard unsent.count == 1 || now - askedAt > Self.patience.microseconds else { return }
        askedAt = now
        send(call("GetCapabilities", to: owner), timeout: Self.memory) { [unowned self] answer in
            guard self.owner == owner else { return }
            let requests = unsent
            unsent = []
            learnCapabilities(answer)
            for (request, text) in requests {
                if Self.isSilence(answer.failure) { failed(request, answer) } else { notify(owner, request, text) }
            }
        }
    }

    /// Whether a call was not answered at all. The first name is what the bus and libsystemd up to 252 say, the second what
    /// later ones do.
    private static func isSilence(_ failure: BusFailure?) -> Bool {
        failure?.name == "org.freedesktop.DBus.Error.NoReply" || failure?.name == "org.freedesktop.DBus.Error.Timeout"
    }

    private func notify(_ owner: String, _ request: BannerRequest, _ text: BannerText) {
        let event = request.newest
        let appearance = event.route.appearance
        let message = call("Notify", to: owner)
        message.append("notifyd")
        message.append(request.replaces?.rawValue ?? 0, as: "u")
        message.append(request.isSummary ? "" : appearance.icon)
        message.append(SafeText.cleaned(text.title, lineBreaks: false))
        let body = SafeText.cleaned(text.body, lineBreaks: true)
        message.append(capabilities.contains("body-markup") ? SafeText.escaped(body) : body)
        let hasButtons = capabilities.contains("actions") && !request.isSummary
        message.append(hasButtons ? appearance.actions.flatMap { [$0.key, $0.label] } : [])
        message.appendContainer("a", "{sv}") { hints in
            Self.append(hintsOf: event, to: hints)
        }
        // Rounded up: 0 would mean for ever.
        let timeout = appearance.timeout.map { Int32(clamping: ($0.microseconds + 999) / 1000) }
        message.append(timeout ?? -1, as: "i")
        send(message, timeout: Self.memory) { [unowned self] answer in
            guard self.owner == owner else { return }
            if answer.failure == nil, let number: UInt32 = try? answer.readNumber("u"), number > 0 {
                onInput(.bannerShown(request.call, BannerID(number)))
            } else if answer.failure?.name == Self.repetition {
                onInput(.bannerShown(request.call, nil))
            } else {
                failed(request, answer)
            }
        }
    }

    private func failed(_ request: BannerRequest, _ answer: borrowing BusMessage) {
        let event = request.newest
        logger.record(
            .bannerFailed,
            [
                "event.id": "\(event.id)", "topic": "\(event.topic)",
                "error": "\(answer.failure?.name ?? "no number in the answer")",
            ])
        onInput(.bannerFailed(request.call, Self.reason(answer, updates: request.replaces != nil)))
    }

    /// Plasma says this of a banner that is the same as one a moment ago, and shows none.
    private static let repetition = "org.freedesktop.Notifications.Error.ExcessNotificationGeneration"

    /// GNOME refuses to update what it does not count as ours, with an error about the arguments.
    private static func reason(_ answer: borrowing BusMessage, updates: Bool) -> BannerFailure {
        updates && answer.failure?.name == "org.freedesktop.DBus.Error.InvalidArgs" ? .unknownBanner : .noAnswer
    }

    private static func append(hintsOf event: Event, to hints: borrowing BusMessage) {
        let appearance = event.route.appearance
        if let urgency = event.urgency ?? appearance.urgency {
            hints.appendEntry("urgency", "y") { $0.append(urgency.rawValue, as: "y") }
        }
        for (name, value) in [
            ("category", appearance.category), ("sound-name", appearance.sound),
            ("desktop-entry", appearance.desktopEntry),
        ] {
            guard let value else { continue }
            hints.appendEntry(name, "s") { $0.append(value) }
        }
    }

    /// Closing is best effort: a banner that is gone already is as good as closed.
    func close(_ id: BannerID) {
        guard let owner else { return }
        let message = call("CloseNotification", to: owner)
        message.append(id.rawValue, as: "u")
        send(message) { _ in }
    }

    private func call(_ member: String, to server: String) -> BusMessage {
        bus.methodCall(to: server, path: Self.path, interface: Self.interface, member: member)
    }

    private func send(
        _ call: consuming BusMessage, timeout: Duration = patience, _ answer: @escaping (borrowing BusMessage) -> Void
    ) {
        do throws(SystemdError) {
            try bus.call(call, timeout: timeout, answer)
        } catch {
            // Only a bus that is gone takes no calls, and then the daemon ends.
            logger.record(.messageNotSent, ["error": "\(error)"])
        }
    }

    // MARK: What it says

    private func closed(_ message: borrowing BusMessage) {
        guard message.sender == owner, let id: UInt32 = try? message.readNumber("u"),
            let reason: UInt32 = try? message.readNumber("u")
        else { return }
        onInput(.bannerClosed(BannerID(id), reason == 2 ? .dismissed : .other))
    }

    private func actionInvoked(_ message: borrowing BusMessage) {
        guard message.sender == owner, let id: UInt32 = try? message.readNumber("u"),
            let key = try? message.readString()
        else { return }
        if activation?.banner != BannerID(id) { activation = nil }
        onInput(.actionInvoked(BannerID(id), action: key))
        activation = nil
    }

    private func activationGranted(_ message: borrowing BusMessage) {
        guard message.sender == owner, let id: UInt32 = try? message.readNumber("u"),
            let token = try? message.readString()
        else { return }
        activation = (BannerID(id), token)
    }

    /// The token that came with the action being relayed.
    func takeActivationToken() -> String? {
        defer { activation = nil }
        return activation?.token
    }
}
