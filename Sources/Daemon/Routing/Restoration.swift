/// The state of an earlier run of the daemon.
public struct Restoration: Sendable {
    /// Something with a time after which it is forgotten.
    public struct Remembered<Subject: Sendable>: Sendable {
        /// What was kept.
        public let subject: Subject
        /// What is left of its time; negative if it is over.
        public let left: Duration

        public init(_ subject: Subject, left: Duration) {
            self.subject = subject
            self.left = left
        }
    }

    /// An undecided event, the length of its window, and how long ago it was accepted; `nil` in an earlier boot.
    public typealias Undecided = (event: Event, window: Duration, age: Duration?)

    /// Undecided events in the order of their ids; all of them or a portion.
    public var undecided: [Remembered<Undecided>] = []
    /// How many more there are in later portions; `nil`: this portion has no undecided events.
    public var remaining: Int?
    /// The current values of topics with their memory costs.
    public var values: [Remembered<(topic: Topic, version: ValueVersion, bytes: Int)>] = []
    /// Removals of values, in the order of their ids.
    public var tombstones: [Remembered<Tombstone>] = []
    /// A pause or a mute, and what is left of it; `nil`: until it is lifted.
    public typealias Quiet = (topic: TopicPrefix, cause: Routing.Quiet.Cause, left: Duration?)

    /// The pause and the mutes.
    public var quiet: [Quiet] = []
    /// The schedules that were lifted; those that are still on stay lifted.
    public var liftedSchedules: [ActiveSchedule.Period] = []
    /// The periods of schedules that owe a digest.
    public var digests: [OwedDigest] = []
    /// Snoozed events, and what is left of their snoozes.
    public var snoozes: [Remembered<RestoredBanner.Shown>] = []
    /// Claims of events that had not come, and what is left of their times.
    public var awaited: [Remembered<NamedClaim>] = []
    /// The origins of recent events, in the order of their ids.
    public var origins: [Remembered<(origin: Origin, id: EventID)>] = []
    /// Banners that are still up on the same server; newest first, all or a portion.
    public var banners: [RestoredBanner] = []
    /// The shortest window of a replayed event, so that screens can come back and claim.
    public var minimumWindow: Duration = .seconds(2)

    /// The highest id of earlier runs: ids grow even if the clock was set back and the journal is found late.
    public var lastID = EventID(0)

    public init() {}
}

/// A banner that an earlier run left up.
public struct RestoredBanner: Sendable {
    /// An event of the banner: shown and unclaimed.
    public struct Shown: Sendable {
        /// With the route that its topic has in the current configuration.
        public let event: Event
        /// How long ago it was accepted; `nil` for an event of an earlier boot.
        public let age: Duration?

        public init(_ event: Event, age: Duration?) {
            self.event = event
            self.age = age
        }
    }

    /// The server's number.
    public let id: BannerID
    /// The first event that it showed; it identifies the banner.
    public let first: EventID
    /// Whether it is the summary of events beyond the rate limit.
    public let isSummary: Bool
    /// In the order of their ids; empty where all have another outcome.
    public let events: [Shown]
    /// If there are none: the undecided event that takes the place of one of them.
    public let successor: Event?

    public init(_ id: BannerID, first: EventID, isSummary: Bool, events: [Shown], successor: Event? = nil) {
        self.id = id
        self.first = first
        self.isSummary = isSummary
        self.events = events
        self.successor = successor
    }
}
