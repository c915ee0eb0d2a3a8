import Routing
import Systemd

/// Translates between messages of `org.notifyd.Router1` and the router's types. It has no state, and knows neither the daemon
/// nor when a message is sent.
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
        case .event(let event, let announcement):
            self.event(event, announcement, expires: clock(announcement.expires))
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
            info.appendEntry("published", "x") { $0.append(event.published, as: "x") }
            info.appendEntry("sender", "s") { $0.append(event.sender) }
            let window = announcement.window?.millisecondsRoundedUp ?? 0
            info.appendEntry("window", "u") { $0.append(window, as: "u") }
            info.appendEntry("expires", "x") { $0.append(expires, as: "x") }
            if let urgency = event.urgency ?? event.route.appearance.urgency {
                info.appendEntry("urgency", "y") { $0.append(urgency.rawValue, as: "y") }
            }
            if let silence = announcement.silence { info.appendEntry("silent", "s") { $0.append(silence.decider) } }
            if announcement.isClaimed { info.appendEntry("claimed", "b") { $0.append(true) } }
            if let source = event.origin.source { info.appendEntry("source", "s") { $0.append(source) } }
            if let id = event.origin.eventID { info.appendEntry("event-id", "s") { $0.append(id) } }
            if let via = event.origin.via { info.appendEntry("via", "s") { $0.append(via) } }
            if announcement.isReplayed { info.appendEntry("replayed", "b") { $0.append(true) } }
            if event.retained { info.appendEntry("retained", "b") { $0.append(true) } }
        }
        return message
    }

    private func resolved(
        _ id: EventID, _ topic: Topic, _ resolution: Resolution, _ program: (String) -> String?
    ) -> BusMessage {
        let message = message("Resolved", topic, id)
        message.append(resolution.outcome.rawValue)
        message.appendContainer("a", "{sv}") { details in
            if let claimant = resolution.claimant { details.appendEntry("by", "s") { $0.append(claimant) } }
            if let program = resolution.claimant.flatMap(program) {
                details.appendEntry("program", "s") { $0.append(program) }
            }
            if let device = resolution.place.device { details.appendEntry("device", "s") { $0.append(device) } }
            if let latency = resolution.latency {
                details.appendEntry("latency", "t") { $0.append(UInt64(clamping: latency.microseconds), as: "t") }
            }
            // `Claim` is the default form and left out.
            if let form = resolution.form, form != .claim {
                details.appendEntry("form", "s") { $0.append(form.rawValue) }
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
            if let delay = resolution.delay { details.appendEntry("delay", "s") { $0.append(delay.rawValue) } }
            if let action = resolution.action { details.appendEntry("action", "s") { $0.append(action) } }
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
