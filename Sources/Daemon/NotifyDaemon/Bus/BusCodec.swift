import Routing
import Systemd

/// Translates between messages of `org.notifyd.Router1` and the router's types. It has no state, and knows neither the
/// daemon nor when a message is sent.
struct BusCodec {
    static let interface = "org.notifyd.Router1"
    static let path = "/org/notifyd/Router1"

    /// Makes the messages.
    let bus: BusConnection
    let limits: Limits

    // MARK: Replies

    func reply(_ reply: Reply, to call: borrowing BusMessage) -> BusMessage {
        let message = bus.methodReturn(to: call)
        switch reply {
        case .accepted(let id): message.append(id.rawValue, as: "t")
        case .verdict(let verdict): message.append(verdict.rawValue)
        case .count(let count): message.append(UInt32(clamping: count), as: "u")
        case .screen(let id): message.append(id.rawValue, as: "t")
        case .done: break
        }
        return message
    }

    func error(_ refusal: Refusal, to call: borrowing BusMessage) -> BusMessage {
        bus.methodError(to: call, BusFailure(refusal))
    }

    // MARK: Signals

    /// Dictionaries hold only the keys that apply.
    ///
    /// - Parameters:
    ///   - clock: microseconds since the epoch, for a time of the clock of lifetimes.
    ///   - program: the name of the program behind a unique name.
    func signal(_ signal: Signal, clock: (Uptime) -> Int64, program: (String) -> String?) -> BusMessage {
        switch signal {
        case .event(let event, let announcement): self.event(event, announcement, expires: clock(announcement.expires))
        case .resolved(let id, let topic, let resolution): resolved(id, topic, resolution, program)
        case .removed(let topic, let id): message("Removed", topic, id)
        case .action(let event, let key): action(key, of: event)
        case .screens(let topic, let isAttended): screens(topic, isAttended: isAttended)
        }
    }

    private func screens(_ topic: TopicPrefix, isAttended: Bool) -> BusMessage {
        let message = bus.signal(path: Self.path, interface: Self.interface, member: "ScreensChanged")
        message.append(topic.description)
        message.append(isAttended)
        return message
    }

    private func action(_ key: String, of event: Event) -> BusMessage {
        let message = message("ActionInvoked", event.topic, event.id)
        message.append(key)
        return message
    }

    private func event(_ event: Event, _ announcement: Announcement, expires: Int64) -> BusMessage {
        let message = message("Event", event.topic, event.id)
        message.append(event.title)
        message.append(event.body)
        message.append(event.fields)
        message.appendContainer("a", "{sv}") { info in
            info.appendEntry("published", event.published, as: "x")
            info.appendEntry("sender", event.sender)
            info.appendEntry("window", announcement.window?.millisecondsRoundedUp ?? 0, as: "u")
            info.appendEntry("expires", expires, as: "x")
            info.appendEntry("urgency", (event.urgency ?? event.route.appearance.urgency)?.rawValue, as: "y")
            info.appendEntry("silent", announcement.silence?.decider)
            info.appendEntry("claimed", announcement.isClaimed)
            info.appendEntry("source", event.origin.source)
            info.appendEntry("event-id", event.origin.eventID)
            info.appendEntry("via", event.origin.via)
            info.appendEntry("replayed", announcement.isReplayed)
            info.appendEntry("retained", event.retained)
        }
        return message
    }

    private func resolved(
        _ id: EventID, _ topic: Topic, _ resolution: Resolution, _ program: (String) -> String?
    ) -> BusMessage {
        let message = message("Resolved", topic, id)
        message.append(resolution.outcome.rawValue)
        message.appendContainer("a", "{sv}") { details in
            details.appendEntry("by", resolution.claimant)
            details.appendEntry("program", resolution.claimant.flatMap(program))
            details.appendEntry("device", resolution.place.device)
            details.appendEntry("latency", resolution.latency.map { UInt64(clamping: $0.microseconds) }, as: "t")
            // `Claim` is the default form and left out.
            details.appendEntry("form", resolution.form == .claim ? nil : resolution.form?.rawValue)
            details.appendEntry("banner", resolution.banner?.rawValue, as: "u")
            details.appendEntry("count", resolution.count.map { UInt32(clamping: $0) }, as: "u")
            details.appendEntry("lateness", resolution.lateness.map { UInt64(clamping: $0.microseconds) }, as: "t")
            details.appendEntry("delay", resolution.delay?.rawValue)
            details.appendEntry("action", resolution.action)
        }
        return message
    }

    /// A signal that begins with a topic and an id.
    private func message(_ member: String, _ topic: Topic, _ id: EventID) -> BusMessage {
        let message = bus.signal(path: Self.path, interface: Self.interface, member: member)
        message.append(topic.description)
        message.append(id.rawValue, as: "t")
        return message
    }
}

/// Entries of an `a{sv}`, where there is a value.
extension BusMessage {
    func appendEntry(_ key: String, _ text: String?) {
        if let text { appendEntry(key, "s") { $0.append(text) } }
    }

    func appendEntry<Number: BitwiseCopyable & Numeric>(_ key: String, _ number: Number?, as type: Unicode.Scalar) {
        if let number { appendEntry(key, String(type)) { $0.append(number, as: type) } }
    }

    /// A flag that is left out where it is false.
    func appendEntry(_ key: String, _ flag: Bool) {
        if flag { appendEntry(key, "b") { $0.append(true) } }
    }
}

extension BusFailure {
    /// The only list of the interface's error names.
    init(_ refusal: Refusal) {
        switch refusal {
        case .invalidTopic(let text): self.init(own: "InvalidTopic", text)
        case .invalidEvent(let text): self.init(own: "InvalidEvent", text)
        case .unknownEvent(let text): self.init(own: "UnknownEvent", text)
        case .unknownScreen(let text): self.init(own: "UnknownScreen", text)
        case .notClaimant(let text): self.init(own: "NotClaimant", text)
        case .storageUnavailable(let text): self.init(own: "StorageUnavailable", text)
        case .tooLarge(let text): self.init(own: "TooLarge", text)
        case .limitExceeded(let text): self.init(own: "LimitExceeded", text)
        case .accessDenied(let text): self.init(own: "AccessDenied", text)
        case .invalidArguments(let text): self.init(name: "org.freedesktop.DBus.Error.InvalidArgs", text: text)
        case .commandNotStarted(let text): self.init(name: "org.freedesktop.DBus.Error.Failed", text: text)
        }
    }

    private init(own name: String, _ text: String) {
        self.init(name: "\(BusCodec.interface).Error.\(name)", text: text)
    }
}
