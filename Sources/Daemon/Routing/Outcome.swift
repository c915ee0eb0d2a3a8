public import NotifyText

/// The final state of an event.
public enum Outcome: String, Sendable, CaseIterable {
    /// Claimed while undecided: no banner.
    case claimed
    /// Shown in a banner, alone or with others.
    case shown
    /// Shown, then claimed late.
    case retracted
    /// Shown, then closed by the user, with or without a button.
    case dismissed
    /// Its route has no banner.
    case silent
    /// Banners were paused, its topic was muted, or a schedule was on.
    case muted
    /// Its lifetime ended before anyone could show it.
    case expired
    /// Its publisher took it back.
    case withdrawn
    /// A later event with the same `collapse` took its place.
    case replaced
}

/// The answer to a claim.
public enum Verdict: String, Sendable, CaseIterable {
    /// In time: no banner for this event.
    case suppressed
    /// The banner was shown or in flight, and is closed.
    case retracted
    /// Nothing to suppress, or other events keep the banner up.
    case recorded
    /// The event has not come yet; it is claimed when it comes.
    case awaited
}

/// A step of a claim: the call that made, confirmed or released it, or how it failed.
public enum ClaimForm: String, Sendable, CaseIterable {
    /// For one event, final.
    case claim = "Claim"
    /// For one event, to be confirmed.
    case provisional = "ClaimProvisionally"
    /// For all events at or below a topic.
    case topic = "ClaimTopic"
    /// By a screen.
    case screen = "OpenScreen"
    /// By its global name, for somebody elsewhere.
    case named = "ClaimNamed"
    /// By marking a topic as read.
    case read = "MarkRead"
    /// A claim by `ClaimProvisionally` was confirmed.
    case completed = "Complete"
    /// A claim by `ClaimProvisionally` was released.
    case released = "Release"
    /// A claim by `ClaimProvisionally` was not confirmed in time.
    case ranOut = "ranout"
    /// The connection that had claimed by `ClaimProvisionally` left the bus.
    case left = "left"
    /// Not a claim: the banner comes back later.
    case snooze = "Snooze"
}

/// The cause of a delay between the end of an event's window and the call for its banner.
public enum BannerDelay: String, Sendable, CaseIterable {
    /// There was no notification server.
    case absent
    /// No calls went to the notification server for a while, after several failures in a row.
    case resting
    /// The notification server refused the banner or did not answer in time.
    case failed
    /// More banners were due than the rate limit allows.
    case limited
    /// An earlier call was in flight, or the notification server had not said what it can do.
    case busy
}

/// A step of a claim as it is kept with the event.
public struct ClaimRecord: Hashable, Sendable {
    /// The claimant's unique bus name.
    public let claimant: String
    /// From publishing to this step; `nil` for an event of an earlier boot or not in memory.
    public var latency: Duration?
    /// The step.
    public let form: ClaimForm
    /// The answer; `recorded` for a step that ends a claim without deciding the event.
    public let verdict: Verdict
    /// The name of the claimant's program. The router does not know it; the shell may add it.
    public var program: String?

    public init(claimant: String, latency: Duration?, form: ClaimForm, verdict: Verdict, program: String? = nil) {
        self.claimant = claimant
        self.latency = latency
        self.form = form
        self.verdict = verdict
        self.program = program
    }
}

/// An outcome and how it came about: for the signal `Resolved` and for the journal.
public struct Resolution: Hashable, Sendable {
    /// The outcome itself.
    public var outcome: Outcome
    /// The unique bus name of who claimed or withdrew it.
    public var claimant: String?
    /// From publishing to the claim; also `nil` for an event of an earlier boot.
    public var latency: Duration?
    /// By which call it was claimed.
    public var form: ClaimForm?
    /// The verdict on the claim, as if it had named this event alone.
    public var verdict: Verdict?
    /// When the event's window was opened. Only the first outcome has this, the deadline, `isReplayed` and
    /// `isOfEarlierBoot`.
    public var opened: Instant?
    /// The deadline of the event's window.
    public var deadline: Instant?
    /// Whether it was announced again after a restart.
    public var isReplayed = false
    /// Whether it was accepted before the last boot.
    public var isOfEarlierBoot = false
    /// What delayed the banner longest after the deadline.
    public var delay: BannerDelay?
    /// The notification server's number of the banner.
    public var banner: BannerID?
    /// The first event of the banner that shows this one.
    public var shownWith: EventID?
    /// How many events the banner shows.
    public var count: Int?
    /// How long after the deadline the banner was asked for.
    public var lateness: Duration?
    /// The pause, mute or schedule that held the banner back, or that the route of a shown event breaks through.
    public var quiet: Quiet?
    /// The name of the digest that counts a muted event; see `OwedDigest`.
    public var digest: EventID?
    /// The key of the button that was pressed.
    public var action: String?
    /// The event that took its place. The outcome holds only if that event is stored.
    public var successor: EventID?
    /// Where the claim was made, if somebody passed it on.
    public var place = ClaimPlace()

    public init(
        _ outcome: Outcome, claimant: String? = nil, latency: Duration? = nil, banner: BannerID? = nil,
        count: Int? = nil, lateness: Duration? = nil
    ) {
        self.outcome = outcome
        self.claimant = claimant
        self.latency = latency
        self.banner = banner
        self.count = count
        self.lateness = lateness
    }
}

/// Why a call was refused. Each case is an error name of the D-Bus interface; its text says what would be right.
public enum Refusal: Error, Equatable, Sendable {
    /// The topic is invalid.
    case invalidTopic(String)
    /// A field or an option is invalid; the text names it.
    case invalidEvent(String)
    /// No event has this id, or it is no longer kept.
    case unknownEvent(String)
    /// No open screen has this number.
    case unknownScreen(String)
    /// The caller has no provisional claim on the event.
    case notClaimant(String)
    /// It belongs to another connection.
    case accessDenied(String)
    /// Invalid arguments; the error name is the general one of D-Bus.
    case invalidArguments(String)
    /// A text or the whole message is too large.
    case tooLarge(String)
    /// A limit is reached; the text names it.
    case limitExceeded(String)
    /// The journal cannot be written, so no event is accepted.
    case storageUnavailable(String)
    /// The command of a button cannot be started; the error name is the general one of D-Bus.
    case commandNotStarted(String)
}

extension Refusal {
    /// No event has this id.
    public static func noEvent(_ id: EventID) -> Refusal {
        .unknownEvent(
            "there is no event \(id): it was deleted, or never existed; ids come from Send, "
                + "Publish and the signal Event"
        )
    }
}

/// Counters since the start of the daemon.
public struct Statistics: Equatable, Sendable {
    /// What is counted beside the outcomes, with its name in the property `Statistics`.
    public enum Counter: String, Sendable, CaseIterable {
        /// Events accepted.
        case published
        /// Publications recognised as duplicates.
        case repeated
        /// Calls that were refused.
        case refused
        /// Claims with the verdict `recorded`.
        case recordedClaims = "recorded-claims"
        /// Banners asked for, updates included.
        case bannerCalls = "banner-calls"
        /// Calls to the notification server that failed or timed out.
        case bannerFailures = "banner-failures"
        /// Banners closed by the router.
        case bannersClosed = "banners-closed"
        /// Banners folded into a summary.
        case bannersFolded = "banners-folded"
        /// Shown events that were forgotten because of the limits; they cannot be retracted.
        case forgotten
    }

    private var counts: [Counter: UInt64] = [:]
    private var outcomes: [Outcome: UInt64] = [:]

    public init() {}

    /// How often it happened since the start.
    public subscript(counter: Counter) -> UInt64 {
        get { counts[counter] ?? 0 }
        set { counts[counter] = newValue }
    }

    /// How many events got this outcome, some of them after `shown`.
    public subscript(outcome: Outcome) -> UInt64 {
        get { outcomes[outcome] ?? 0 }
        set { outcomes[outcome] = newValue }
    }

    /// Everything that is counted, with its name in the property `Statistics`.
    public var all: [(String, UInt64)] {
        Counter.allCases.map { ($0.rawValue, self[$0]) } + Outcome.allCases.map { ($0.rawValue, self[$0]) }
    }
}
