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

/// An outcome and its circumstances. Times are microseconds since the epoch, durations are microseconds.
public struct StoredDecision: Sendable, Equatable {
    public var outcome: Outcome
    public var resolved: Int64
    public var opened: Int64?
    public var deadline: Int64?
    public var claimant: String?
    public var latency: Int64?
    public var form: ClaimForm?
    /// The notification server's number of the banner, and the unique name of that server.
    public var banner: UInt32?
    public var server: String?
    /// The first event of the banner that shows this one; see `StoredBanner`.
    public var shownWith: EventID?
    public var count: Int?
    public var lateness: Int64?
    /// Whether a later run announced it again before it was decided.
    public var isReplayed = false
    /// Whether it was accepted in an earlier boot.
    public var isOfEarlierBoot = false
    /// Whether a muted or expired event was marked as read.
    public var isRead = false
    /// Why an event is silent or muted. For a shown event, see `delay` and `verdict`.
    public var cause: String?
    /// The key of the button that was pressed.
    public var action: String?
    /// The name of the claimant's program.
    public var program: String?
    /// Where the claim was made, if somebody passed it on. Also of the claim that marked a muted or expired event as
    /// read.
    public var place = ClaimPlace()

    public init(outcome: Outcome, resolved: Int64) {
        self.outcome = outcome
        self.resolved = resolved
    }

    /// The decision of a muted or expired event after it is marked as read; `nil` for other events.
    public var markedRead: StoredDecision? {
        guard outcome == .muted || outcome == .expired, !isRead else { return nil }
        var decision = self
        decision.isRead = true
        return decision
    }
}

/// A banner that is up.
public struct StoredBanner: Sendable, Equatable {
    /// The notification server's number of it.
    public var number: UInt32
    /// The server's unique bus name.
    public var server: String
    /// The first event that it showed. It identifies the banner, because the server may change the number. A banner
    /// that begins with a snoozed event has an id of its own here.
    public var first: EventID
    /// Whether it is the summary banner.
    public var isSummary: Bool

    public init(number: UInt32, server: String, first: EventID, isSummary: Bool) {
        self.number = number
        self.server = server
        self.first = first
        self.isSummary = isSummary
    }
}

/// An event or a removal with a global id.
public struct NamedPush: Sendable, Equatable {
    public var origin: Origin
    public var id: EventID

    public init(origin: Origin, id: EventID) {
        self.origin = origin
        self.id = id
    }
}
