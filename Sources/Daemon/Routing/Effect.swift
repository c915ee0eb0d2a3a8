public import NotifyText

/// What the shell must do, in the order given.
///
/// One call may have an effect for every event in memory, so the large cases are allocated separately.
public enum Effect: Sendable {
    /// Announce an event (signal `Event`).
    case announce(Event, Announcement)
    /// Announce an outcome (signal `Resolved`).
    indirect case resolve(EventID, Topic, Resolution)
    /// Ask the notification server for a banner, and report `bannerShown` or `bannerFailed`.
    indirect case showBanner(BannerRequest)
    /// Ask the bus to start a notification server.
    case startServer
    /// Keep what has changed about the banners that are up.
    case keepBanner(BannerChange)
    /// Announce whether a screen that suppresses stands at exactly this topic (signal `ScreensChanged`).
    indirect case screensChanged(TopicPrefix, isAttended: Bool)
    /// Announce that a button was pressed (signal `ActionInvoked`).
    case relayAction(Event, action: String)
    /// Keep a step of a claim that did not decide the event.
    indirect case noteClaim(EventID, ClaimRecord)
    /// Keep that a topic has no current value, and the version that later ones are compared with; `nil`: the topic has
    /// a newer value or removal, which stays. If the topic had a value until now (`isNews`), announce it (signal
    /// `Removed`).
    indirect case remove(ValueRemoval, leaving: ValueVersion?, isNews: Bool)
    /// Keep that stored events are read.
    indirect case read(ReadEvents, by: String, as: ClaimForm = .claim, from: ClaimPlace = ClaimPlace())
    /// Keep the claim of an event that has not come yet, in place of one with the same name; `nil`: that an event with
    /// this name is not awaited any more.
    indirect case awaited(Origin, AwaitedClaim?)
    /// Keep what the router says of a table now.
    case changed(Tables)
    /// Count what `Router.dueDigests` held back, and hand in `digestsCounted`.
    case countDigests
    /// Hand in `timerFired` at these moments. Each replaces the one asked for before on its clock; `nil`: that one
    /// stays.
    case armTimer(Instant?, lifetimes: Uptime?)
}

/// Stored events that are read.
public enum ReadEvents: Sendable {
    /// A silent, muted or expired one: a screen shows its topic, or it was claimed before it came, or long afterwards.
    case event(EventID)
    /// Those at or below a topic, up to an id, that are not in memory.
    case topic(TopicPrefix, upTo: EventID)
}

/// Tables that are kept as a whole.
public struct Tables: OptionSet, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `Router.quiet` and `liftedSchedules`. They are announced too.
    public static let quiet = Self(rawValue: 1)
    /// `Router.snoozed`.
    public static let snoozes = Self(rawValue: 2)
    /// `Router.owedDigests`.
    public static let digests = Self(rawValue: 4)
    /// `Router.awaitedClaims`. There may be many, so usually only what has changed is kept.
    public static let awaited = Self(rawValue: 8)
    /// All of them.
    public static let all: Self = [.quiet, .snoozes, .digests, .awaited]
}

/// A change of the banners that are up.
public enum BannerChange: Sendable {
    /// A banner is up. Its first event identifies it; the server may change the number.
    case up(BannerID, first: EventID, isSummary: Bool)
    /// No banner has this number any more.
    case gone(BannerID)
    /// The same, and the notification server is to close it.
    case closed(BannerID)
    /// No banner is up: the server is gone.
    case allGone
}

/// The answer to a call.
public enum Reply: Equatable, Sendable {
    /// The id of what was published.
    case accepted(EventID)
    /// The verdict on a claim.
    case verdict(Verdict)
    /// How many events were claimed.
    case count(Int)
    /// The number of the screen that was opened.
    case screen(ScreenID)
    /// Done, without a result.
    case done
}

/// What the signal `Event` says beside the event itself.
public struct Announcement: Hashable, Sendable {
    /// What is left of the window; `nil` where no claims are awaited.
    public let window: Duration?
    /// Why there will be no banner, for the outcome `silent`.
    public let silence: Silence?
    /// Whether it is claimed already, by a screen or the grace of a topic claim.
    public let isClaimed: Bool
    /// Whether an earlier run of the daemon announced the event before.
    public let isReplayed: Bool
    /// The end of the event's lifetime.
    public let expires: Uptime

    public init(
        window: Duration?, silence: Silence? = nil, isClaimed: Bool = false, isReplayed: Bool = false, expires: Uptime
    ) {
        self.window = window
        self.silence = silence
        self.isClaimed = isClaimed
        self.isReplayed = isReplayed
        self.expires = expires
    }
}

extension Announcement {
    /// The announcement after a delay.
    public func after(_ time: Duration) -> Announcement {
        Announcement(
            window: window.map { max(.zero, $0 - time) }, silence: silence, isClaimed: isClaimed,
            isReplayed: isReplayed, expires: expires)
    }
}

/// Why there is no banner for an event.
public enum Silence: String, Sendable {
    case route, publisher
    /// The topic has a newer value.
    case newerValue = "newer-value"

    /// Who decided against the banner, as clients are told.
    public var decider: String { self == .route ? Self.route.rawValue : Self.publisher.rawValue }
}

/// The removal of a topic's current value.
public struct ValueRemoval: Sendable {
    /// Why the topic has no value any more.
    public enum Cause: String, Sendable, CaseIterable {
        /// A publisher removed it.
        case publisher
        /// Its lifetime ended.
        case expired
        /// A newer value took its place, whose lifetime was over when it came.
        case replaced
    }

    /// Its own id.
    public let id: EventID
    /// The topic.
    public let topic: Topic
    /// Of a publisher's removal.
    public let origin: Origin
    /// When the removal, or the newer value, was published; `nil`: the lifetime of the value ended.
    public let published: Int64?
    /// Why.
    public let cause: Cause
}

/// The notification server's number of a banner; valid while the same server runs.
public struct BannerID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(_ rawValue: UInt32) { self.rawValue = rawValue }

    public var description: String { "\(rawValue)" }
}

/// Identifies a `showBanner`; its answer names it.
public struct BannerCall: Hashable, Sendable {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A banner to show. The shell makes the text, with the wording of each event's route.
public struct BannerRequest: Sendable {
    /// How many events the text of a banner can name: the newest one and `others`.
    static let namedEvents = 3

    /// The call that the answer must name.
    public let call: BannerCall
    /// The banner to update in place.
    public let replaces: BannerID?
    /// The newest unclaimed event, whose text the banner has.
    public let newest: Event
    /// Up to two more events behind the banner, newest first.
    public let others: [Event]
    /// The highest urgency among the events behind the banner; `nil`: none is sent, and servers take that for normal.
    public let urgency: Urgency?
    /// Unclaimed events behind the banner.
    public let count: Int
    /// Whether the banner is the summary of unrelated events beyond the rate limit.
    public let isSummary: Bool

    /// Without an urgency it is that of the newest event.
    public init(
        call: BannerCall, replaces: BannerID?, newest: Event, others: [Event] = [], urgency: Urgency?? = nil,
        count: Int, isSummary: Bool
    ) {
        self.call = call
        self.replaces = replaces
        self.newest = newest
        self.others = others
        self.urgency = urgency ?? newest.shownUrgency
        self.count = count
        self.isSummary = isSummary
    }
}
