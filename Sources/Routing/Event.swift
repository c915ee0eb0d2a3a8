import NotifyText

/// The number of an event: grows strictly, is never used twice, survives restarts.
public struct EventID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }

    public static func < (left: EventID, right: EventID) -> Bool {
        left.rawValue < right.rawValue
    }

    public var description: String { "\(rawValue)" }
}

/// One accepted push. It never changes, and everybody who has to do with it refers to the same one.
public final class Event: Sendable {
    /// Given when it was accepted.
    public let id: EventID
    /// Where it belongs.
    public let topic: Topic
    /// May be empty, at most 1 KiB.
    public let title: String
    /// May be empty, at most 8 KiB.
    public let body: String
    /// What the publisher added, verbatim and in its order.
    public let fields: [Field]
    /// Microseconds since the epoch, as the publisher said or as the daemon's clock stood.
    public let published: Int64
    /// The publisher's unique bus name, as the bus said.
    public let sender: String
    /// Where the publisher says it comes from.
    public let origin: Origin
    /// The publisher's word on how pressing it is; `nil` leaves that to the route.
    public let urgency: Urgency?
    /// Whether the event is the current value of its topic.
    public let retained: Bool
    /// The rule that applied when it was accepted, and applies to its end.
    public let route: Route
    /// What it costs to keep the event, in bytes; reckoned once, for it is asked for wherever the event is kept or waits.
    public let footprint: Int

    public init(
        id: EventID, topic: Topic, title: String, body: String, fields: [Field], published: Int64, sender: String,
        origin: Origin, urgency: Urgency?, retained: Bool, route: Route
    ) {
        self.id = id
        self.topic = topic
        self.title = title
        self.body = body
        self.fields = fields
        self.published = published
        self.sender = sender
        self.origin = origin
        self.urgency = urgency
        self.retained = retained
        self.route = route
        footprint = Footprint.ofEvent(topic: topic, title: title, body: body, fields: fields, origin: origin)
    }

    /// What it shares its window and its banner with.
    public var key: CoalescingKey { route.key(topic: topic, event: id) }
}

/// Where a publisher says an event comes from. A pair of both parts names the event for good: a repeat is recognised.
public struct Origin: Hashable, Sendable {
    private final class Parts: Sendable {
        let source: String?
        let eventID: String?

        init(_ source: String?, _ eventID: String?) {
            self.source = source
            self.eventID = eventID
        }
    }

    /// Most events come without, and then there is nothing to keep.
    private let parts: Parts?

    /// The publisher's own name for where its events come from.
    public var source: String? { parts?.source }
    /// The publisher's own id within `source`.
    public var eventID: String? { parts?.eventID }

    public init(source: String? = nil, eventID: String? = nil) {
        parts = source == nil && eventID == nil ? nil : Parts(source, eventID)
    }

    public static func == (left: Origin, right: Origin) -> Bool {
        left.source?.bytes == right.source?.bytes && left.eventID?.bytes == right.eventID?.bytes
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(source?.bytes)
        hasher.combine(eventID?.bytes)
    }

    /// Whether both parts are there, so that a repeat can be recognised.
    public var namesAnEvent: Bool { source != nil && eventID != nil }
}

/// What a publisher asks for, before it has been accepted.
public struct Publication: Sendable {
    /// The D-Bus method it came by: `Send` has no way to give fields.
    public enum Method: Sendable {
        /// `Send` or `Publish`.
        case send, publish
    }

    /// Where it belongs.
    public var topic: Topic
    /// May be empty.
    public var title: String
    /// May be empty.
    public var body: String
    /// What the publisher added.
    public var fields: [Field]
    /// What is not left to the route.
    public var options: PublishOptions
    /// The publisher's unique bus name.
    public var sender: String
    /// By which call it came.
    public var method: Method
    /// The wall clock when the push came in, microseconds since the epoch.
    public var received: Int64
    /// The size of everything the publisher wrote, in bytes.
    public var size: Int

    public init(
        topic: Topic, title: String, body: String, fields: [Field] = [], options: PublishOptions = PublishOptions(),
        sender: String, method: Method = .publish, received: Int64 = 0, size: Int = 0
    ) {
        self.topic = topic
        self.title = title
        self.body = body
        self.fields = fields
        self.options = options
        self.sender = sender
        self.method = method
        self.received = received
        self.size = size
    }
}
