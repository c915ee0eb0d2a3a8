/// Everything the router asks of the shell around it, to be done in the order given.
public enum Effect: Sendable {
    /// Answer the call that caused this input; every call gets exactly one answer.
    case reply(Reply)
    /// Tell everybody of an event (signal `Event`).
    case announce(Event, Announcement)
    /// Tell everybody of an outcome (signal `Resolved`).
    case resolve(EventID, Topic, Resolution)
    /// Ask the notification server for a banner, and report `bannerShown` or `bannerFailed`.
    case showBanner(BannerRequest)
    /// Ask the bus to start a notification server.
    case startServer
    /// Ask the notification server to close a banner.
    case closeBanner(BannerID)
    /// Keep that a banner is up, under this number. The first event that it showed names it; the number may change.
    case keepBanner(BannerID, first: EventID, isSummary: Bool)
    /// Keep that there is no banner with this number any more.
    case forgetBanner(BannerID)
    /// Keep that no banner is up any more: the server is gone.
    case forgetAllBanners
    /// Tell everybody that a button was pressed (signal `ActionInvoked`).
    case relayAction(Event, action: String)
    /// Keep a claim that did not decide the event by itself.
    case noteClaim(EventID, ClaimRecord)
    /// Keep that a topic has no current value; the id is the removal's own, and the origin what its publisher called it.
    /// Where the topic had a value until now, tell everybody (signal `Removed`).
    case remove(Topic, EventID, Origin, isNews: Bool)
    /// Somebody has seen what is at or below a topic, up to an id: what is kept of it and not in memory counts as read.
    case markRead(TopicPrefix, upTo: EventID, by: String, as: ClaimForm)
    /// What `Router.quiet` says has changed: it is to be kept, and everybody told.
    case quietChanged
    /// Have `timerFired` handled at this moment, instead of the one asked for before.
    case armTimer(Instant)
    /// The same on the clock of lifetimes.
    case armLifetimeTimer(Uptime)
}

/// What a caller is answered.
public enum Reply: Equatable, Sendable {
    /// The id of what was published.
    case accepted(EventID)
    /// What a claim has led to.
    case verdict(Verdict)
    /// How many events a topic claim took.
    case count(Int)
    /// The number of the screen that was opened.
    case screen(ScreenID)
    /// There is nothing to say but that it was done.
    case done
    /// Why it was not done.
    case refused(Refusal)
}

/// What the signal `Event` says beside the event itself.
public struct Announcement: Hashable, Sendable {
    /// What is left of the window; `nil` where no banner is pending.
    public let window: Duration?
    /// Why no banner will ever be pending, for an event whose outcome is `silent`.
    public let silence: Silence?
    /// Whether the event was announced before, in an earlier run of the daemon.
    public let isReplayed: Bool
    /// When the event is not worth showing any more.
    public let expires: Uptime

    public init(window: Duration?, silence: Silence? = nil, isReplayed: Bool = false, expires: Uptime) {
        self.window = window
        self.silence = silence
        self.isReplayed = isReplayed
        self.expires = expires
    }
}

extension Announcement {
    /// What it says when so much time has passed.
    public func after(_ time: Duration) -> Announcement {
        Announcement(
            window: window.map { max(.zero, $0 - time) }, silence: silence, isReplayed: isReplayed, expires: expires)
    }
}

/// Who wanted no banner for an event.
public enum Silence: String, Sendable {
    /// Whose word it was.
    case route, publisher
}

/// The notification server's number of a banner; only good while the same server runs.
public struct BannerID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(_ rawValue: UInt32) {
        self.rawValue = rawValue
    }

    public var description: String { "\(rawValue)" }
}

/// Connects a `showBanner` with its answer.
public struct BannerCall: Hashable, Sendable {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// A banner as the router wants it; its text is made by the shell, from the wording of each event's route.
public struct BannerRequest: Sendable {
    /// How many events a banner speaks of by name: the newest one and `others`.
    static let namedEvents = 3

    /// What the answer of the notification server is to name.
    public let call: BannerCall
    /// The banner to update in place.
    public let replaces: BannerID?
    /// The newest unclaimed event: the banner speaks of this one.
    public let newest: Event
    /// Up to two more events behind the banner, newest first.
    public let others: [Event]
    /// Unclaimed events behind the banner.
    public let count: Int
    /// Whether the banner stands for events that have nothing in common but the storm they came in.
    public let isSummary: Bool

    public init(
        call: BannerCall, replaces: BannerID?, newest: Event, others: [Event] = [], count: Int, isSummary: Bool
    ) {
        self.call = call
        self.replaces = replaces
        self.newest = newest
        self.others = others
        self.count = count
        self.isSummary = isSummary
    }
}
