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

/// One accepted push.
public struct Event: Sendable {
    public let id: EventID
    public let topic: Topic
    public let title: String
    public let body: String
    public let fields: [Field]
    /// Microseconds since the epoch, as the publisher said or as the daemon's clock stood.
    public let published: Int64
    /// The publisher's unique bus name, as the bus said.
    public let sender: String
    public let origin: Origin
    public let urgency: Urgency?
    /// Whether the event is the current value of its topic.
    public let retained: Bool
    public let route: Route

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
    }

    /// What it shares its window and its banner with.
    public var key: CoalescingKey { route.key(topic: topic, event: id) }
}

/// Where a publisher says an event comes from. A pair of both parts names the event for good: a repeat is recognised.
public struct Origin: Hashable, Sendable {
    public let source: String?
    public let eventID: String?

    public init(source: String? = nil, eventID: String? = nil) {
        self.source = source
        self.eventID = eventID
    }

    /// Whether both parts are there, so that a repeat can be recognised.
    public var namesAnEvent: Bool { source != nil && eventID != nil }
}

/// What a publisher asks for, before it has been accepted.
public struct Publication: Sendable {
    /// The D-Bus method it came by: `Send` has no way to give fields.
    public enum Method: Sendable { case send, publish }

    public var topic: Topic
    public var title: String
    public var body: String
    public var fields: [Field]
    public var options: PublishOptions
    public var sender: String
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
