public import NotifyText

extension EventID: SlabKey {
    static let vacant = EventID(0)

    /// The router gives the ids, so nobody can choose many with equal hashes. Multiplicative hashing: D. E. Knuth, "The
    /// Art of Computer Programming", volume 3, section 6.4.
    var slabHash: UInt32 { UInt32(truncatingIfNeeded: (rawValue &* 0x9E37_79B9_7F4A_7C15) >> 32) }
}

/// One accepted event. It is immutable and shared.
public final class Event: Sendable {
    /// Assigned when it was accepted.
    public let id: EventID
    /// The topic.
    public let topic: Topic
    private let content: EventContent
    /// Microseconds since the epoch, from the publisher or the daemon's clock.
    public let published: Int64
    /// The publisher's unique bus name.
    public let sender: String
    /// Where the publisher says it comes from.
    public let origin: Origin
    /// The route at the time it was accepted; it applies until the event is forgotten.
    public let route: Route
    /// `nil` for most events, so that they take less memory.
    private let extras: Extras?
    private let cost: Int32
    /// Whether the event is the current value of its topic.
    public let retained: Bool
    /// The urgency that the publisher set; `nil`: the route's.
    public let urgency: Urgency?

    /// What few events have.
    private final class Extras: Sendable {
        let collapse: CollapseKey?
        let appearanceOptions: [Field]
        let isOwnBanner: Bool

        init(_ collapse: CollapseKey?, _ appearanceOptions: [Field]) {
            self.collapse = collapse
            self.appearanceOptions = appearanceOptions
            isOwnBanner = Appearance.isOwnBanner(appearanceOptions)
        }
    }

    /// May be empty, at most 1 KiB.
    public var title: String { content.title }
    /// May be empty, at most 8 KiB.
    public var body: String { content.body }
    /// What the publisher added, unchanged and in its order.
    public var fields: [Field] { content.fields }
    /// What it takes the place of; `nil` for most events.
    public var collapse: CollapseKey? { extras?.collapse }
    /// What the publisher says about the banner; empty for most events. `appearance` reads it.
    public var appearanceOptions: [Field] { extras?.appearanceOptions ?? [] }
    /// Whether its publisher shows the banner itself, and the router only decides: the option `own-banner`.
    public var isShownByPublisher: Bool { extras?.isOwnBanner ?? false }
    /// What the event takes in memory, in bytes; computed once because every queue asks for it.
    public var memoryCost: Int { Int(cost) }

    public init(
        id: EventID, topic: Topic, title: String, body: String, fields: [Field], published: Int64, sender: String,
        origin: Origin, urgency: Urgency?, collapse: String? = nil, retained: Bool, appearanceOptions: [Field] = [],
        route: Route
    ) {
        self.id = id
        self.topic = topic
        content = EventContent(title: title, body: body, fields: fields)
        self.published = published
        self.sender = sender
        self.origin = origin
        self.urgency = urgency
        self.retained = retained
        self.route = route
        let key = collapse.map { CollapseKey(topic: topic, text: $0) }
        extras = key == nil && appearanceOptions.isEmpty ? nil : Extras(key, appearanceOptions)
        cost = Int32(
            clamping: MemoryCost.ofEvent(
                topic: topic, title: title, body: body, fields: fields, origin: origin, collapse: collapse,
                appearance: appearanceOptions))
    }

    /// The same event, for a time in which few look at it.
    init(packing other: Event) {
        id = other.id
        topic = other.topic
        content = other.content.packed
        published = other.published
        sender = other.sender
        origin = other.origin
        urgency = other.urgency
        retained = other.retained
        route = other.route
        extras = other.extras
        cost = other.cost
    }

    /// The key of its window and its banner. What its publisher shows is alone in its window.
    public var key: CoalescingKey {
        switch isShownByPublisher ? .none : route.coalescing {
        case .topic: .topic(of: self)
        case .route: .route(route)
        case .none: collapse.map { .collapse($0) } ?? .event(self)
        }
    }
}

/// Events with equal keys replace each other: the same topic and the same `collapse`.
///
/// It is an object, so that it takes one word in an event and in a `CoalescingKey`.
public final class CollapseKey: Hashable, Sendable {
    /// The topic.
    public let topic: Topic
    /// The option `collapse`.
    public let text: String

    public init(topic: Topic, text: String) {
        self.topic = topic
        self.text = text
    }

    public static func == (left: CollapseKey, right: CollapseKey) -> Bool {
        left.topic == right.topic && left.text.hasBytes(of: right.text)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(topic)
        text.hashBytes(into: &hasher)
    }
}

/// Where a publisher says an event comes from. Source and event-id together are a global id, by which duplicates are
/// found.
public struct Origin: Hashable, Sendable {
    private final class Parts: Sendable {
        let source: String?
        let eventID: String?
        let via: String?

        init(_ source: String?, _ eventID: String?, _ via: String?) {
            self.source = source
            self.eventID = eventID
            self.via = via
        }
    }

    /// `nil` for most events, so that they take less memory.
    private let parts: Parts?

    /// The publisher's own name for where its events come from.
    public var source: String? { parts?.source }
    /// The publisher's own id within `source`.
    public var eventID: String? { parts?.eventID }
    /// The line by which a bridge brought it. It is not part of its identity.
    public var via: String? { parts?.via }

    public init(source: String? = nil, eventID: String? = nil, via: String? = nil) {
        parts = source == nil && eventID == nil && via == nil ? nil : Parts(source, eventID, via)
    }

    public static func == (left: Origin, right: Origin) -> Bool {
        left.source?.bytes == right.source?.bytes && left.eventID?.bytes == right.eventID?.bytes
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(source?.bytes)
        hasher.combine(eventID?.bytes)
    }

    /// Whether both parts are present.
    public var isGlobalID: Bool { source != nil && eventID != nil }
}

/// A call to publish, not accepted yet.
public struct Publication: Sendable {
    /// The D-Bus method; `Send` has no argument for fields.
    public enum Method: Sendable {
        case send, publish
    }

    /// The topic.
    public var topic: Topic
    /// May be empty.
    public var title: String
    /// May be empty.
    public var body: String
    /// What the publisher added.
    public var fields: [Field]
    /// What overrides the route.
    public var options: PublishOptions
    /// The publisher's unique bus name.
    public var sender: String
    /// The method that was called.
    public var method: Method
    /// When the call came in: the wall clock, microseconds since the epoch.
    public var received: Int64
    /// The size of all arguments in bytes.
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

/// Events with equal keys share a window and a banner.
///
/// Every undecided event has a key in several tables, so a key is one word: it refers to an event instead of copying
/// its topic.
public enum CoalescingKey: Sendable {
    /// All events of the topic of this one.
    case topic(of: Event)
    /// All events of a route, by its name.
    case route(Route)
    /// One event alone.
    case event(Event)
    /// The same for an event that need not be in memory.
    case eventNumbered(Number)
    /// Events that replace each other, where the route has a banner for each event.
    case collapse(CollapseKey)
    /// The summary of events beyond the rate limit.
    case summary

    /// An object, so that it takes one word.
    public final class Number: Sendable {
        let id: EventID

        init(_ id: EventID) { self.id = id }
    }

    /// The event that it is alone for.
    private var event: EventID? {
        switch self {
        case .event(let event): event.id
        case .eventNumbered(let number): number.id
        case .topic, .route, .collapse, .summary: nil
        }
    }
}

extension CoalescingKey: Hashable {
    public static func == (left: CoalescingKey, right: CoalescingKey) -> Bool {
        switch (left, right) {
        case (.topic(let left), .topic(let right)): left.topic == right.topic
        case (.route(let left), .route(let right)): left === right || left.name.hasBytes(of: right.name)
        case (.collapse(let left), .collapse(let right)): left == right
        case (.summary, .summary): true
        default: left.event != nil && left.event == right.event
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .topic(let event): hasher.combine(event.topic)
        case .route(let route): route.name.hashBytes(into: &hasher)
        case .event, .eventNumbered: hasher.combine(event)
        case .collapse(let key): hasher.combine(key)
        case .summary: hasher.combine(0)
        }
    }
}

extension CoalescingKey: SlabKey {
    static var vacant: CoalescingKey { .summary }
}

extension CoalescingKey: CustomStringConvertible {
    /// The key as text, for explanations.
    public var description: String {
        switch self {
        case .topic(let event): event.topic.description
        case .route(let route): "route \(route.name)"
        case .event(let event): "event \(event.id)"
        case .eventNumbered(let number): "event \(number.id)"
        case .collapse(let key): "collapse \(key.text) of \(key.topic)"
        case .summary: "summary"
        }
    }
}
