public import Routing

/// An outcome and its circumstances. Times are microseconds since the epoch, durations are microseconds.
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
    /// The first event of the banner that shows this one; see `StoredBanner`.
    public var shownWith: EventID?
    public var count: Int?
    public var lateness: Int64?
    /// Whether a later run announced it again before it was decided.
    public var isReplayed = false
    /// Whether it was accepted in an earlier boot.
    public var isOfEarlierBoot = false
    /// Whether a muted or expired event was marked as read.
    public var isRead = false
    /// Why an event is silent or muted.
    public var cause: String?
    /// What the banner waited for after the deadline; `nil` if it came in time.
    public var delay: BannerDelay?
    /// The verdict of the claim that decided the event.
    public var verdict: Verdict?
    /// The event that took the place of a replaced one.
    public var successor: EventID?
    /// Whether it was muted before its banner came back after a snooze.
    public var wasMuted = false
    /// The pause or mute that its route broke through, as the daemon wrote it.
    public var brokenThrough: String?
    /// The key of the button that was pressed.
    public var action: String?
    /// The name of the claimant's program.
    public var program: String?
    /// Where the claim was made, if somebody passed it on. Also of the claim that marked a muted or expired event as
    /// read.
    public var place = ClaimPlace()

    public init(outcome: Outcome, resolved: Int64) {
        self.outcome = outcome
        self.resolved = resolved
    }

    /// The decision of a muted or expired event after it is marked as read; `nil` for other events.
    public var markedRead: StoredDecision? {
        guard outcome == .muted || outcome == .expired, !isRead else { return nil }
        var decision = self
        decision.isRead = true
        return decision
    }

    /// The column `outcome` of the index: below 10 for what counts as unread.
    var code: Int {
        switch outcome {
        case .shown: 1
        case .muted: isRead ? 14 : 2
        case .expired: isRead ? 15 : 3
        case .claimed: 10
        case .retracted: 11
        case .dismissed: 12
        case .silent: 13
        case .withdrawn: 16
        case .replaced: 17
        }
    }

    /// Whether this is a later decision of an event that was shown or snoozed. It comes without the window, which the
    /// first one has.
    package var followsShown: Bool {
        switch outcome {
        case .retracted, .dismissed, .withdrawn, .replaced, .shown, .muted, .expired: opened == nil
        case .claimed, .silent: false
        }
    }

    /// A later decision of an event that was shown or snoozed, with the window and banner of the decision before it.
    package func following(_ shown: StoredDecision) -> StoredDecision {
        var decision = self
        decision.opened = shown.opened
        decision.deadline = shown.deadline
        decision.isReplayed = shown.isReplayed
        decision.isOfEarlierBoot = shown.isOfEarlierBoot
        // What comes back after a snooze has a banner or a cause of its own.
        if outcome == .muted || outcome == .expired { return decision }
        decision.wasMuted = shown.outcome == .muted || shown.wasMuted
        if outcome == .shown { return decision }
        decision.lateness = lateness ?? shown.lateness
        decision.count = count ?? shown.count
        decision.delay = shown.delay
        decision.brokenThrough = shown.brokenThrough
        return decision
    }
}
