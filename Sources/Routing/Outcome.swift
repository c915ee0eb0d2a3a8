/// The one final word on an event.
public enum Outcome: String, Sendable, CaseIterable {
    /// Somebody claimed it while it was open: no banner.
    case claimed
    /// It became a banner, alone or with others.
    case shown
    /// It was shown, then claimed late.
    case retracted
    /// It was shown, then closed by the user.
    case dismissed
    /// Its route has no banner.
    case silent
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

/// How an event came to its outcome: what the signal `Resolved` carries.
public struct Resolution: Hashable, Sendable {
    public var outcome: Outcome
    /// The claimant's unique bus name.
    public var claimant: String?
    /// From publishing to the claim.
    public var latency: Duration?
    /// The notification server's number of the banner.
    public var banner: BannerID?
    /// How many events stand in the banner.
    public var count: Int?
    /// How long after its deadline the banner was asked for.
    public var lateness: Duration?

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
    case invalidTopic(String)
    case invalidEvent(String)
    case unknownEvent(String)
    case tooLarge(String)
    case limitExceeded(String)
}
