public import Routing

/// A stored event. All times are microseconds since the epoch.
public struct StoredEvent: Sendable, Equatable {
    public var id: EventID
    public var topic: Topic
    public var title: String
    public var body: String
    public var fields: [Field]
    public var published: Int64
    /// The publisher's unique bus name.
    public var sender: String
    public var origin: Origin
    public var urgency: Urgency?
    /// The option `collapse`.
    public var collapse: String?
    public var retained: Bool
    /// What the publisher says about the banner; see `Appearance`.
    public var appearance: [Field]
    /// The name of its route.
    public var route: String
    /// The text of its coalescing key.
    public var key: String
    /// The length of its window when it was announced, in microseconds; 0 if it had none.
    public var window: Int64
    /// The time of acceptance.
    public var accepted: Int64
    public var expires: Expiry
    /// Its outcome and the circumstances; `nil` while it is undecided.
    public var decision: StoredDecision?

    public init(
        id: EventID, topic: Topic, title: String, body: String, fields: [Field], published: Int64, sender: String,
        origin: Origin, urgency: Urgency?, collapse: String? = nil, retained: Bool, appearance: [Field] = [],
        route: String, key: String, window: Int64, accepted: Int64, expires: Expiry, decision: StoredDecision? = nil
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
        self.collapse = collapse
        self.retained = retained
        self.appearance = appearance
        self.route = route
        self.key = key
        self.window = window
        self.accepted = accepted
        self.expires = expires
        self.decision = decision
    }

    /// Whether nobody has seen it: it is undecided, shown, or muted or expired and not marked as read.
    public var isUnread: Bool {
        guard let decision else { return true }
        return decision.outcome == .shown || decision.markedRead != nil
    }

    /// Its cost in memory, in bytes. Its size in a message is less.
    public var memoryCost: Int {
        MemoryCost.ofEvent(
            topic: topic, title: title, body: body, fields: fields, origin: origin, collapse: collapse,
            appearance: appearance)
    }
}

/// The end of an event's lifetime, on two clocks. In the boot of its acceptance CLOCK_BOOTTIME counts, which cannot be
/// set. After another boot the wall clock counts.
public struct Expiry: Sendable, Equatable {
    /// Microseconds since the epoch.
    public var wall: Int64
    /// Microseconds of CLOCK_BOOTTIME.
    public var uptime: Int64
    /// The boot of acceptance: `/proc/sys/kernel/random/boot_id`.
    public var boot: String

    public init(wall: Int64, uptime: Int64, boot: String) {
        self.wall = wall
        self.uptime = uptime
        self.boot = boot
    }

    /// The time that is left; negative if it has passed.
    public func left(wall now: Int64, uptime: Int64, boot: String) -> Duration {
        .microseconds(boot == self.boot ? self.uptime - uptime : wall - now)
    }
}
