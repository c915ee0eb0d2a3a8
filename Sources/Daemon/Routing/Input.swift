public import NotifyText

/// A call of a client, or of the shell itself. Each has one answer.
public enum Call: Sendable {
    /// A client publishes an event.
    case published(Publication)
    /// A client, with its unique bus name, claims an event, perhaps by a button of it.
    case claimed(EventID, by: String, pressing: String? = nil)
    /// A client claims an event by its global name: the event that has it (`Router.event(named:)`), or `nil` if none
    /// has come.
    case claimedNamed(NamedClaim, event: EventID?)
    /// A client claims a shown event among others of a topic, which the shell has read for that.
    case claimedCold(ColdEvent, by: String, as: ClaimForm)
    /// A client claims an event, but the claim must be confirmed within a time.
    case claimedProvisionally(EventID, within: Duration, by: String)
    /// The holder of a provisional claim, or the owner of screens that were asked, says what becomes of an event.
    case answered(EventID, Answer, by: String)
    /// A publisher, with its unique bus name, takes an event back.
    case withdrawn(EventID, by: String)
    /// A client claims all events at or below a topic.
    case topicClaimed(TopicPrefix, TopicClaim, by: String)
    /// A client opens a screen for all at or below a topic.
    case screenOpened(TopicPrefix, ScreenOptions, by: String)
    /// The owner of a screen changes it or renews its lease; `nil`: closes it.
    case screenChanged(ScreenID, ScreenOptions?, by: String)
    /// Mutes banners at or below a topic for a time; zero or `nil` ends the mute of exactly this topic, and lifts its
    /// schedules until they begin again. Without a topic all banners are paused; zero: until further notice; `nil`:
    /// the pause ends.
    case quieted(TopicPrefix?, for: Duration?)
    /// A client wants the banner of a shown or muted event to come back after a time.
    case snoozed(EventID, for: Duration, by: String)
    /// What `dueDigests` held back has been counted, as `Effect.countDigests` asked. The answer is that to a publisher,
    /// or `done` without a digest.
    case digestsCounted(DigestCount)

    /// What a client says of an event about which it was asked, or that it holds.
    public enum Answer: Sendable {
        /// It confirms its provisional claim, or releases it.
        case completed, released
        /// None of its screens claims the event.
        case passed
    }
}

/// How all events of a topic are claimed.
public enum TopicClaim: Sendable {
    /// Also those that arrive during this time.
    case grace(Duration)
    /// Those up to an id have been read; 0 means all.
    case read(upTo: EventID)
}

/// Everything else that can happen to the router.
public enum Happening: Sendable {
    /// Undecided events, values and global ids of an earlier run. Events may come in portions between other inputs.
    /// Values and global ids come before the first input that depends on them.
    case restored(Restoration)
    /// There is news of a connection, which has this unique name.
    case peer(String, PeerNews)
    /// The session was locked or became idle (false), or is in use again (true).
    case attentionChanged(isWatched: Bool)

    /// These are all the schedules that are on now.
    case scheduled([ActiveSchedule])
    /// The desktop's own “do not disturb” is on, or off again.
    case desktopQuiet(Bool)

    /// The events published so far are in the journal, except some that could not be written. Those were not announced,
    /// and count as never published.
    case stored(except: [EventID])
    /// Decided events were deleted from the journal. With `awaited`, no event is awaited any longer.
    case forgotten([EventID], awaited: Bool = false)
    /// The timer fired. It may fire early: only due timers have an effect.
    case timerFired

    /// Something happened to the notification server.
    case server(ServerState)
    /// A `showBanner` went a step further.
    case banner(BannerCall, BannerStep)
    /// The server says that a banner is closed.
    case bannerClosed(BannerID, ClosingReason)
    /// The user pressed one of the banner's buttons.
    case actionInvoked(BannerID, action: String)

    /// The configuration has changed. Open windows keep their deadlines.
    case reconfigured(RouteTable, BannerSettings, ScreenSettings)
}

/// What is learned of a connection.
public enum PeerNews: Sendable {
    /// Its program, or that it cannot be told (`nil`). What the connection has counts for it, also what it has left
    /// behind.
    case identified(as: String?, hasLeft: Bool)
    /// It left the bus.
    case left
}

/// The state of the notification server.
public enum ServerState: Sendable {
    /// It has taken the name. It is asked what it can do before banners are sent.
    case found
    /// It is ready for banners.
    case ready
    /// It is gone, with all its banners.
    case gone
}

/// What becomes of a `showBanner`.
public enum BannerStep: Sendable {
    /// It leaves for the server now. Until then claims of its events are in time.
    case sent
    /// The server answered with the banner's number; `nil`: the same banner is on screen already.
    case shown(BannerID?)
    /// The server refused it or did not answer in time.
    case failed(BannerFailure)
}

/// Why a banner could not be shown.
public enum BannerFailure: Sendable {
    /// The server answered with an error or not in time.
    case noAnswer
    /// The call was not made: an event of the banner could not be kept, or was claimed or taken back.
    case notAsked
    /// The server does not know the banner to update, or says that it is not ours.
    case unknownBanner
}

/// Why a banner was closed: `NotificationClosed` of the Desktop Notifications Specification.
public enum ClosingReason: Sendable {
    /// By the user.
    case dismissed
    /// By expiry, by a program, or for an unknown reason.
    case other
}

/// Settings for the banners of all routes.
public struct BannerSettings: Hashable, Sendable {
    /// New banners per second; more are folded into a summary. 0 means no limit.
    public var maximumPerSecond: Int
    /// Whether to start a notification server when a banner is due and there is none.
    public var startsServer: Bool
    /// Whether a digest reports what a pause, a mute or the desktop held back, once it is over.
    public var digestsPauses: Bool
    /// Whether the desktop's own “do not disturb” holds banners back.
    public var followsDesktop: Bool

    public init(
        maximumPerSecond: Int = 5, startsServer: Bool = false, digestsPauses: Bool = false, followsDesktop: Bool = true
    ) {
        self.maximumPerSecond = maximumPerSecond
        self.startsServer = startsServer
        self.digestsPauses = digestsPauses
        self.followsDesktop = followsDesktop
    }
}
