import Routing
import Systemd

/// `org.notifyd.Router1` on the bus: calls become inputs of the router, and its replies become theirs.
///
/// The table at the end is the interface; `org.notifyd.Router1.xml` says the same in XML, and a test holds them together.
final class RouterInterface {
    static let name = "org.notifyd.Router1"
    static let path = "/org/notifyd/Router1"

    private unowned let daemon: Daemon
    private let bus: BusConnection
    private let interface = BusInterface(RouterInterface.name)

    init(daemon: Daemon, bus: BusConnection) {
        self.daemon = daemon
        self.bus = bus
    }

    // MARK: Methods

    private func send(_ call: borrowing BusMessage) throws(BusFailure) {
        try answer(call) { call in
            try publication(call, method: .send)
        }
    }

    private func publish(_ call: borrowing BusMessage) throws(BusFailure) {
        try answer(call) { call in
            var publication = try publication(call, method: .publish)
            var fields = DictionaryReader("field", limits: daemon.limits)
            publication.fields = try fields.read(call)
            var options = DictionaryReader("option", limits: daemon.limits)
            publication.options = try PublishOptions(try options.read(call))
            publication.size += fields.size + options.size
            return publication
        }
    }

    private func claim(_ call: borrowing BusMessage) throws(BusFailure) {
        let id: UInt64 = try Self.translating { try call.readNumber("t") }
        try perform(.claimed(EventID(id), by: call.sender), for: call)
    }

    // MARK: From a call to an input

    private func publication(_ call: borrowing BusMessage, method: Publication.Method) throws -> Publication {
        let text = try call.readString()
        let title = try call.readString()
        let body = try call.readString()
        let topic: Topic
        do throws(TopicError) {
            topic = try Topic(text)
        } catch {
            throw Refusal.invalidTopic(error.description)
        }
        return Publication(
            topic: topic, title: title, body: body, sender: call.sender, method: method, received: Clock.realtime(),
            size: text.utf8.count + title.utf8.count + body.utf8.count)
    }

    private func answer(
        _ call: borrowing BusMessage, _ read: (borrowing BusMessage) throws -> Publication
    ) throws(BusFailure) {
        let publication = try Self.translating { try read(call) }
        try perform(.published(publication), for: call)
    }

    private static func translating<Result>(_ body: () throws -> Result) throws(BusFailure) -> Result {
        do {
            return try body()
        } catch let refusal as Refusal {
            throw BusFailure(refusal)
        } catch {
            throw BusFailure(
                name: "org.freedesktop.DBus.Error.InvalidArgs", text: "the message cannot be read: \(error)")
        }
    }

    /// Has the router handle a call, replies, and only then lets everything else happen that follows from it.
    private func perform(_ input: Input, for call: borrowing BusMessage) throws(BusFailure) {
        let effects = daemon.decide(input)
        guard case .reply(let reply) = effects.first else {
            preconditionFailure("the router replies to every call before it does anything else")
        }
        let message = bus.methodReturn(to: call)
        switch reply {
        case .accepted(let id): message.append(id.rawValue, as: "t")
        case .verdict(let verdict): message.append(verdict.rawValue)
        case .refused(let refusal): throw BusFailure(refusal)
        }
        daemon.leave(message)
        daemon.perform(effects.dropFirst())
    }

    // MARK: Signals

    func announce(_ event: Event, _ announcement: Announcement) {
        let signal = bus.signal(path: Self.path, interface: Self.name, member: "Event")
        signal.append(event.topic.description)
        signal.append(event.id.rawValue, as: "t")
        signal.append(event.title)
        signal.append(event.body)
        signal.append(event.fields)
        signal.appendContainer("a", "{sv}") { info in
            info.appendEntry("published", "x") { $0.append(event.published, as: "x") }
            info.appendEntry("sender", "s") { $0.append(event.sender) }
            let window = announcement.window?.millisecondsRoundedUp ?? 0
            info.appendEntry("window", "u") { $0.append(window, as: "u") }
            if let source = event.origin.source { info.appendEntry("source", "s") { $0.append(source) } }
            if let id = event.origin.eventID { info.appendEntry("event-id", "s") { $0.append(id) } }
            if event.retained { info.appendEntry("retained", "b") { $0.append(true) } }
        }
        daemon.leave(signal)
    }

    func resolve(_ id: EventID, _ topic: Topic, _ resolution: Resolution) {
        let signal = bus.signal(path: Self.path, interface: Self.name, member: "Resolved")
        signal.append(topic.description)
        signal.append(id.rawValue, as: "t")
        signal.append(resolution.outcome.rawValue)
        signal.appendContainer("a", "{sv}") { details in
            if let claimant = resolution.claimant { details.appendEntry("by", "s") { $0.append(claimant) } }
            if let latency = resolution.latency {
                details.appendEntry("latency", "t") { $0.append(UInt64(clamping: latency.microseconds), as: "t") }
            }
            if let banner = resolution.banner {
                details.appendEntry("banner", "u") { $0.append(banner.rawValue, as: "u") }
            }
            if let count = resolution.count {
                details.appendEntry("count", "u") { $0.append(UInt32(clamping: count), as: "u") }
            }
            if let lateness = resolution.lateness {
                details.appendEntry("lateness", "t") { $0.append(UInt64(clamping: lateness.microseconds), as: "t") }
            }
        }
        daemon.leave(signal)
    }

    func relayAction(_ id: EventID, _ topic: Topic, _ action: String) {
        let signal = bus.signal(path: Self.path, interface: Self.name, member: "ActionInvoked")
        signal.append(topic.description)
        signal.append(id.rawValue, as: "t")
        signal.append(action)
        daemon.leave(signal)
    }

    func defaultWindowChanged() {
        bus.propertiesChanged(path: Self.path, interface: Self.name, ["DefaultWindowMilliseconds"])
    }

    // MARK: The table

    func export() throws(SystemdError) {
        interface.method("Send", in: [("topic", "s"), ("title", "s"), ("body", "s")], out: [("id", "t")]) {
            [unowned self] call throws(BusFailure) in try send(call)
        }
        interface.method(
            "Publish", in: [("topic", "s"), ("title", "s"), ("body", "s"), ("fields", "a{sv}"), ("options", "a{sv}")],
            out: [("id", "t")]
        ) { [unowned self] call throws(BusFailure) in try publish(call) }
        interface.method("Claim", in: [("id", "t")], out: [("verdict", "s")]) {
            [unowned self] call throws(BusFailure) in try claim(call)
        }

        interface.property("Version", "s", .constant) { $0.append(notifydVersion) }
        interface.property("DefaultWindowMilliseconds", "u", .announced) { [unowned daemon] in
            $0.append(daemon.configuration.defaultWindow.millisecondsRoundedUp, as: "u")
        }
        interface.property("Pending", "u", .unannounced) { [unowned daemon] in
            $0.append(UInt32(clamping: daemon.router.pending), as: "u")
        }
        interface.property("Statistics", "a{st}", .unannounced) { [unowned daemon] message in
            message.appendContainer("a", "{st}") { entries in
                for (name, value) in daemon.statistics {
                    entries.appendContainer("e", "st") { entry in
                        entry.append(name)
                        entry.append(value, as: "t")
                    }
                }
            }
        }

        interface.signal(
            "Event",
            [("topic", "s"), ("id", "t"), ("title", "s"), ("body", "s"), ("fields", "a{sv}"), ("info", "a{sv}")])
        interface.signal("Resolved", [("topic", "s"), ("id", "t"), ("outcome", "s"), ("details", "a{sv}")])
        interface.signal("ActionInvoked", [("topic", "s"), ("id", "t"), ("action", "s")])
        try interface.export(on: bus, path: Self.path)
    }
}

extension BusFailure {
    /// The error names of the interface stand here and nowhere else.
    init(_ refusal: Refusal) {
        let (name, text) =
            switch refusal {
            case .invalidTopic(let text): ("InvalidTopic", text)
            case .invalidEvent(let text): ("InvalidEvent", text)
            case .unknownEvent(let text): ("UnknownEvent", text)
            case .tooLarge(let text): ("TooLarge", text)
            case .limitExceeded(let text): ("LimitExceeded", text)
            }
        self.init(name: "\(RouterInterface.name).Error.\(name)", text: text)
    }
}
