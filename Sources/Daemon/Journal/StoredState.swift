public import Routing

/// A stored pause or mute, or a schedule that was lifted.
public struct StoredQuiet: Sendable, Equatable {
    public var topic: TopicPrefix
    public var cause: Quiet.Cause
    /// `nil` for a pause without an end, and for a schedule.
    public var end: End?
    /// For a schedule: when the lifted period began, in microseconds since the epoch.
    public var began: Int64?

    /// The end, and the time that was left when it was stored. After another boot the wall clock counts; a wall clock
    /// that was set back must not prolong the pause.
    public struct End: Sendable, Equatable {
        public var moment: Expiry
        /// Microseconds.
        public var left: Int64

        public init(moment: Expiry, left: Int64) {
            self.moment = moment
            self.left = left
        }

        /// The time that is left; negative if it has passed.
        public func left(wall: Int64, uptime: Int64, boot: String) -> Duration {
            min(moment.left(wall: wall, uptime: uptime, boot: boot), .microseconds(left))
        }
    }

    public init(topic: TopicPrefix, cause: Quiet.Cause, end: End?, began: Int64? = nil) {
        self.topic = topic
        self.cause = cause
        self.end = end
        self.began = began
    }
}

/// A snoozed event as it is stored.
public struct StoredSnooze: Sendable, Equatable {
    public var event: EventID
    /// When its banner is due again.
    public var end: StoredQuiet.End

    public init(event: EventID, end: StoredQuiet.End) {
        self.event = event
        self.end = end
    }
}

/// A stored claim of an event that has not come yet.
public struct StoredAwaited: Sendable, Equatable {
    /// The global name of the event: source and event-id.
    public var origin: Origin
    /// What was done with the event elsewhere.
    public var kind: NamedClaim.Kind
    /// The unique bus name of who passed it on.
    public var claimant: String
    /// Where it was done.
    public var place: ClaimPlace
    /// What is known about the claimant, and its program.
    public var identity: [Field]
    /// Until when the event is awaited.
    public var end: StoredQuiet.End
}

extension StoredAwaited {
    public init(_ claim: NamedClaim, end: StoredQuiet.End) {
        origin = claim.origin
        kind = claim.kind
        claimant = claim.claimant
        place = claim.place
        identity = claim.identity + (claim.program.map { [Field(name: Self.program, value: .string($0))] } ?? [])
        self.end = end
    }

    /// The name of the field with the program.
    private static var program: String { "program" }

    /// The program of the claimant; `nil` if it was not known.
    public var program: String? {
        guard case .string(let name)? = identity.first(where: { $0.name == Self.program })?.value else { return nil }
        return name
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

/// The removal of a current value.
public struct StoredRemoval: Sendable, Equatable {
    /// Its own id.
    public var id: EventID
    public var topic: Topic
    public var origin: Origin
    /// When it, or what replaced the value, was published; `nil`: the lifetime of the value ended.
    public var published: Int64?
    /// When it came in.
    public var removed: Int64
    public var cause: ValueRemoval.Cause

    public init(
        id: EventID, topic: Topic, origin: Origin, published: Int64?, removed: Int64, cause: ValueRemoval.Cause
    ) {
        self.id = id
        self.topic = topic
        self.origin = origin
        self.published = published
        self.removed = removed
        self.cause = cause
    }
}
