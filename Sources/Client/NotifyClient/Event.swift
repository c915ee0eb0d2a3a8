public import NotifyText

/// An event, as every subscriber receives it: the signal `Event`.
public struct Event: Hashable, Sendable {
    /// The id of the event.
    public var id: EventID
    /// Where the event belongs, such as `/post/27`.
    public var topic: String
    /// Empty if the route of the topic supplies the title of the banner.
    public var title = ""
    /// Often empty.
    public var body = ""
    /// What the publisher added, with its D-Bus types.
    public var fields: Fields = [:]
    /// When it was published, in microseconds since 1970-01-01 00:00 UTC.
    public var published: Int64?
    /// The time left to claim the event before its banner; zero when no claim is awaited: it gets no banner, or gets it
    /// at once.
    public var window: Duration?
    /// The unique name of the publisher on the bus.
    public var sender: String?
    /// The publisher's name for the source of the event.
    public var source: String?
    /// The publisher's own id within ``source``.
    public var eventID: String?
    /// The urgency of its banner; `nil` if neither the publisher nor the route sets one.
    public var urgency: PublishOptions.Urgency?
    /// When its time to live ends, in microseconds since 1970-01-01 00:00 UTC.
    public var expires: Int64?
    /// Who decided that it gets no banner, `route` or `publisher`; `nil` for other events.
    public var silence: String?
    /// The line by which a bridge brought it, such as `mqtt`.
    public var via: String?
    /// Whether it was claimed as it came in, by a screen or by the grace of a topic claim.
    public var isClaimed = false
    /// Whether the event is announced again after a restart of the daemon.
    public var isReplayed = false
    /// Whether the event is now the current value of its topic.
    public var isRetained = false
}

extension Event {
    /// An event of which nothing else is known.
    public init(id: EventID, topic: String) { self.init(id: id, topic: topic, title: "") }
}

extension Event: Announced {
    package static let signal = "Event"

    /// From the arguments of the signal: `s t s s a{sv} a{sv}`.
    package init?(arguments: [Value]) {
        guard arguments.count >= 6,
            case .string(let topic) = arguments[0],
            case .uint64(let id) = arguments[1],
            case .string(let title) = arguments[2],
            case .string(let body) = arguments[3],
            let fields = arguments[4].fields,
            let info = arguments[5].entries
        else { return nil }
        self.init(
            id: EventID(rawValue: id), topic: topic, title: title, body: body, fields: fields,
            published: info["published"]?.integer(),
            window: info["window"]?.integer(as: UInt32.self).map { .milliseconds($0) },
            sender: info["sender"]?.string,
            source: info["source"]?.string,
            eventID: info["event-id"]?.string,
            urgency: info["urgency"]?.integer().flatMap(PublishOptions.Urgency.init(rawValue:)),
            expires: info["expires"]?.integer(),
            silence: info["silent"]?.string,
            via: info["via"]?.string,
            isClaimed: info["claimed"]?.boolean ?? false,
            isReplayed: info["replayed"]?.boolean ?? false,
            isRetained: info["retained"]?.boolean ?? false)
    }
}

/// A button that the user pressed on a banner: the signal `ActionInvoked`.
public struct Action: Hashable, Sendable {
    /// The newest event of the banner.
    public var id: EventID
    /// Where the event belongs.
    public var topic: String
    /// The key of the action, as its route names it, such as `accept`; `default` for the banner itself.
    public var action: String

    public init(id: EventID, topic: String, action: String) {
        self.id = id
        self.topic = topic
        self.action = action
    }
}

extension Action: Announced {
    package static let signal = "ActionInvoked"

    /// From the arguments of the signal: `s t s`.
    package init?(arguments: [Value]) {
        guard arguments.count >= 3,
            case .string(let topic) = arguments[0],
            case .uint64(let id) = arguments[1],
            case .string(let action) = arguments[2]
        else { return nil }
        self.init(id: EventID(rawValue: id), topic: topic, action: action)
    }
}

/// Whether a topic is on screen: the signal `ScreensChanged`.
public struct Attention: Hashable, Sendable {
    /// The topic, exactly; `/` stands for every topic.
    public var topic: String
    /// Whether a screen that suppresses banners, in a session that is neither locked nor idle, stands at this topic.
    public var isAttended: Bool

    public init(topic: String, isAttended: Bool) {
        self.topic = topic
        self.isAttended = isAttended
    }
}

extension Attention: Announced {
    package static let signal = "ScreensChanged"

    /// From the arguments of the signal: `s b`.
    package init?(arguments: [Value]) {
        guard arguments.count >= 2, case .string(let topic) = arguments[0], case .boolean(let flag) = arguments[1]
        else {
            return nil
        }
        self.init(topic: topic, isAttended: flag)
    }
}
