/// Everything that can happen to the router.
public enum Input: Sendable {
    /// What an earlier run of the daemon left undecided, what topics had as their values, and what was named. Events may come
    /// in portions while other things happen, values and names only before what they matter to.
    case restored(Restoration)
    /// Somebody publishes an event.
    case published(Publication)
    /// Somebody, named by its unique bus name, says "I handle this event".
    case claimed(EventID, by: String)
    /// The same, to be confirmed within a time.
    case claimedProvisionally(EventID, within: Duration, by: String)
    /// The holder of a provisional claim confirms it.
    case completed(EventID, by: String)
    /// The holder of a provisional claim gives it back.
    case released(EventID, by: String)
    /// Somebody says for all its screens "this event is none of mine".
    case passed(EventID, by: String)
    /// Somebody claims everything at or below a topic, and goes on claiming for a moment.
    case topicClaimed(TopicPrefix, grace: Duration, by: String)
    /// Somebody has seen everything at or below a topic up to an id; 0 means all.
    case markedRead(TopicPrefix, upTo: EventID, by: String)
    /// Shown events that are not in memory any more were claimed, and no banner speaks of them.
    case claimedLate([LateClaim])
    /// Somebody shows what is at or below a topic.
    case screenOpened(TopicPrefix, ScreenOptions, by: String)
    /// The owner of a screen changes it, or renews its lease.
    case screenUpdated(ScreenID, ScreenOptions, by: String)
    /// The owner of a screen shows it no more.
    case screenClosed(ScreenID, by: String)
    /// A connection left the bus, and everything it held with it.
    case peerLeft(String)
    /// The session was locked or became idle (false), or somebody is back (true).
    case attentionChanged(isWatched: Bool)

    /// No banners at all for now, or banners again.
    case paused(Bool)
    /// No banners at all for a time; zero: until `paused(false)`.
    case pausedFor(Duration)
    /// No banners at or below a topic for a time; zero takes back what was said of this very topic.
    case muted(TopicPrefix, for: Duration)

    /// A shown event that is not in memory any more, from the journal: how long ago it was accepted, and the number of its
    /// banner where that is up and shows nothing else.
    case recalled(Event, age: Duration, banner: BannerID?)
    /// Events that could not be kept, and of which nobody has been told: they have never been.
    case withdrawn([EventID])
    /// The timer that was asked for went off; also safe at any other time, for only what is due is done.
    case timerFired

    /// The notification server took its name, or there is a new one.
    case serverAppeared
    /// The notification server is gone, and all banners with it.
    case serverVanished
    /// The server answered a `showBanner` with the number of the banner; `nil` where it says that the same banner is on
    /// screen already.
    case bannerShown(BannerCall, BannerID?)
    /// The server refused a `showBanner` or did not answer in time.
    case bannerFailed(BannerCall, BannerFailure)
    /// The server says that a banner is closed.
    case bannerClosed(BannerID, ClosingReason)
    /// The user pressed one of the banner's buttons.
    case actionInvoked(BannerID, action: String)

    /// There is a new configuration. Open windows keep their deadlines.
    case reconfigured(RouteTable, BannerSettings, ScreenSettings)
}

/// A claim of a shown event that is not in memory any more.
public struct LateClaim: Sendable {
    /// The event.
    public let id: EventID
    /// Where it belongs.
    public let topic: Topic
    /// What is to be said of it.
    public let resolution: Resolution

    public init(_ id: EventID, _ topic: Topic, _ resolution: Resolution) {
        self.id = id
        self.topic = topic
        self.resolution = resolution
    }
}

/// Why a banner could not be shown.
public enum BannerFailure: Sendable {
    /// The server gave an error, or none of its answers came in time.
    case noAnswer
    /// The server was not asked after all: something that the banner speaks of could not be kept, or was claimed before.
    case notAsked
    /// The server does not know the banner that was to be updated, or does not count it as ours.
    case unknownBanner
}

/// Why a banner was closed: `NotificationClosed` of the Desktop Notifications Specification.
public enum ClosingReason: Sendable {
    /// By the user.
    case dismissed
    /// By itself, by a program, or for a reason the server does not give.
    case other
}

/// How banners are to be treated as a whole.
public struct BannerSettings: Hashable, Sendable {
    /// New banners that may appear within a second; more are folded into one. 0 means no limit.
    public var maximumPerSecond: Int
    /// Whether a notification server is to be started when a banner is due and there is none.
    public var startsServer: Bool

    public init(maximumPerSecond: Int = 5, startsServer: Bool = false) {
        self.maximumPerSecond = maximumPerSecond
        self.startsServer = startsServer
    }
}
