/// The one final word on an event.
public enum Outcome: String, Sendable, CaseIterable {
    /// Somebody claimed it while it was open: no banner.
    case claimed
    /// It became a banner, alone or with others.
    case shown
    /// It was shown, then claimed late.
    case retracted
    /// It was shown, then closed by the user, perhaps with a button.
    case dismissed
    /// Its route has no banner.
    case silent
    /// Banners were paused, or its topic was muted.
    case muted
    /// Its lifetime ended before anyone could show it.
    case expired
}

/// What a claimant is told.
public enum Verdict: String, Sendable, CaseIterable {
    /// In time: there will be no banner for this event.
    case suppressed
    /// The banner had been shown, or was about to be, and is now closed.
    case retracted
    /// There was nothing to suppress, or other events keep the banner up.
    case recorded
}

/// A step of a claim: by which call it was made, confirmed or given up, or how it came to nothing.
public enum ClaimForm: String, Sendable, CaseIterable {
    /// For one event, at once and for good.
    case claim = "Claim"
    /// For one event, to be confirmed.
    case provisional = "ClaimProvisionally"
    /// For what is at or below a topic.
    case topic = "ClaimTopic"
    /// By a screen.
    case screen = "OpenScreen"
    /// By marking a topic as read.
    case read = "MarkRead"
    /// A claim by `ClaimProvisionally` was confirmed.
    case completed = "Complete"
    /// A claim by `ClaimProvisionally` was given up.
    case released = "Release"
    /// A claim by `ClaimProvisionally` was not confirmed in time.
    case ranOut = "ranout"
    /// The connection that had claimed by `ClaimProvisionally` left the bus.
    case left = "left"
}

/// A step of a claim as it is remembered beside the event, whatever came of it.
public struct ClaimRecord: Hashable, Sendable {
    /// The claimant's unique bus name.
    public let claimant: String
    /// From publishing to this step.
    public let latency: Duration
    /// What step it is.
    public let form: ClaimForm
    /// What the claimant was told; `recorded` for a step that ends a claim without deciding the event.
    public let verdict: Verdict
    /// What people call the claimant. The router does not know; the shell around it may.
    public var program: String?

    public init(claimant: String, latency: Duration, form: ClaimForm, verdict: Verdict, program: String? = nil) {
        self.claimant = claimant
        self.latency = latency
        self.form = form
        self.verdict = verdict
        self.program = program
    }
}

/// How an event came to its outcome: what the signal `Resolved` carries, and what is kept of the decision.
public struct Resolution: Hashable, Sendable {
    /// The one final word.
    public var outcome: Outcome
    /// The claimant's unique bus name.
    public var claimant: String?
    /// From publishing to the claim.
    public var latency: Duration?
    /// By which call it was claimed.
    public var form: ClaimForm?
    /// When the event's window was opened. This, the deadline and `isReplayed` are said once, by the first outcome.
    public var opened: Instant?
    /// When the event's window ended, or was to end.
    public var deadline: Instant?
    /// Whether it was announced again after a restart before it was decided.
    public var isReplayed = false
    /// The notification server's number of the banner.
    public var banner: BannerID?
    /// The first event of the banner in which a shown event stands.
    public var shownWith: EventID?
    /// How many events stand in the banner.
    public var count: Int?
    /// How long after its deadline the banner was asked for.
    public var lateness: Duration?
    /// What held its banner back.
    public var quiet: Quiet?
    /// The key of the button that was pressed.
    public var action: String?

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

/// Why something was refused. Each case is an error name of the D-Bus interface, and its text says what would be right.
public enum Refusal: Error, Equatable, Sendable {
    /// What was given as a topic is none.
    case invalidTopic(String)
    /// A field or an option cannot be right; the words name it.
    case invalidEvent(String)
    /// No event has this id, or it is kept no longer.
    case unknownEvent(String)
    /// No screen has this number, or it is gone.
    case unknownScreen(String)
    /// The caller does not hold the event.
    case notClaimant(String)
    /// It belongs to somebody else.
    case accessDenied(String)
    /// The arguments are of no use; the error is one that every D-Bus service has.
    case invalidArguments(String)
    /// A text, or all of it, is larger than allowed.
    case tooLarge(String)
    /// A limit is reached; the words name it.
    case limitExceeded(String)
    /// Nothing can be kept, so nothing is accepted.
    case storageUnavailable(String)
}
