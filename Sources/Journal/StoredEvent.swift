public import Routing

/// An event as it is kept. All times are microseconds since the epoch.
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
    public var retained: Bool
    /// The name of the route it took.
    public var route: String
    /// What it shared its window with, in words.
    public var key: String
    /// The length of its window when it was announced, in microseconds; 0 where no banner was pending.
    public var window: Int64
    /// When it came in.
    public var accepted: Int64
    public var expires: Expiry
    /// Its outcome and how that came about; `nil` while it is undecided.
    public var decision: StoredDecision?

    public init(
        id: EventID, topic: Topic, title: String, body: String, fields: [Field], published: Int64, sender: String,
        origin: Origin, urgency: Urgency?, retained: Bool, route: String, key: String, window: Int64, accepted: Int64,
        expires: Expiry, decision: StoredDecision? = nil
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
        self.key = key
        self.window = window
        self.accepted = accepted
        self.expires = expires
        self.decision = decision
    }

    /// What it costs to keep in memory, in bytes; also more than it takes in a message.
    public var footprint: Int {
        Footprint.ofEvent(topic: topic, title: title, body: body, fields: fields, origin: origin)
    }
}

/// When an event is not worth showing any more, on two clocks: in the boot it was accepted in, the time since the boot
/// counts, which nobody can set; after another boot the wall clock has to do.
public struct Expiry: Sendable, Equatable {
    /// Microseconds since the epoch.
    public var wall: Int64
    /// Microseconds of CLOCK_BOOTTIME.
    public var uptime: Int64
    /// Which boot that was: `/proc/sys/kernel/random/boot_id`.
    public var boot: String

    public init(wall: Int64, uptime: Int64, boot: String) {
        self.wall = wall
        self.uptime = uptime
        self.boot = boot
    }

    /// What is left at a moment; negative when it is over.
    public func left(wall now: Int64, uptime: Int64, boot: String) -> Duration {
        .microseconds(boot == self.boot ? self.uptime - uptime : wall - now)
    }
}

/// An outcome and how it came about. All times are microseconds since the epoch, all lengths microseconds.
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
    /// The first event of the banner in which a shown event stands; see `StoredBanner`.
    public var shownWith: EventID?
    public var count: Int?
    public var lateness: Int64?
    /// Whether it was announced again after a restart before it was decided.
    public var isReplayed = false
    /// Whether somebody has seen an event that was never shown: it is muted or expired, and counts as read.
    public var isRead = false
    /// What the outcome does not say by itself: who wanted an event silent, or why it is muted.
    public var cause: String?
    /// The key of the button that was pressed.
    public var action: String?
    /// What people call the claimant.
    public var program: String?

    public init(outcome: Outcome, resolved: Int64) {
        self.outcome = outcome
        self.resolved = resolved
    }

    /// The same for an event that was never shown and that somebody has seen now; `nil` for any other.
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
    /// Which server that is.
    public var server: String
    /// The first event that it showed, which names it: the server may change the number.
    public var first: EventID
    /// Whether it is the one that a storm is folded into.
    public var isSummary: Bool

    public init(number: UInt32, server: String, first: EventID, isSummary: Bool) {
        self.number = number
        self.server = server
        self.first = first
        self.isSummary = isSummary
    }
}

/// A push that its publisher gave a name, an event or a removal.
public struct NamedPush: Sendable, Equatable {
    public var origin: Origin
    public var id: EventID

    public init(origin: Origin, id: EventID) {
        self.origin = origin
        self.id = id
    }
}

/// Something to be kept, in the order in which it happened.
public enum JournalEntry: Sendable, Equatable {
    indirect case accepted(StoredEvent)
    case decided(EventID, StoredDecision)
    /// A claim that did not decide the event by itself.
    case claimed(EventID, ClaimRecord)
    /// It has turned out what people call a claimant: unique name, program, and events that it claimed.
    case named(String, String, [EventID])
    /// What holds banners back from now on: all of it.
    case quietReplaced([StoredQuiet])
    /// A banner is up, or has another number than before.
    case bannerUp(StoredBanner)
    /// No banner with this number is up.
    case bannerGone(UInt32)
    /// No banner is up.
    case allBannersGone
    /// A topic has no current value; the id is the removal's own, and the origin what its publisher called it.
    case removed(Topic, EventID, Origin, accepted: Int64)
}
