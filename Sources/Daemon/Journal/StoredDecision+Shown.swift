public import Routing

/// The contents of `cause` for a shown event: what its banner waited for, the verdict of a later claim if it is not the
/// usual one (of `ClaimNamed`, for a dismissed or withdrawn event), the event that took its place, `muted` if it was
/// muted before a snooze, and after the word `through` what its route broke through.
extension StoredDecision {
    /// What the banner waited for after the deadline; `nil` if it came in time.
    public var delay: BannerDelay? { causes.lazy.compactMap { BannerDelay(rawValue: $0) }.first }

    /// The verdict of the claim that decided the event.
    public var verdict: Verdict? {
        switch outcome {
        case .claimed: .suppressed
        case .retracted: causes.contains(Verdict.recorded.rawValue) ? .recorded : .retracted
        case .dismissed, .withdrawn: causes.lazy.compactMap { Verdict(rawValue: $0) }.first
        case .shown, .silent, .muted, .expired, .replaced: nil
        }
    }

    /// The event that took the place of a replaced one.
    public var successor: EventID? { causes.lazy.compactMap { UInt64($0) }.first.map { EventID($0) } }

    /// The pause or mute that its route broke through, as the daemon wrote it.
    public var brokenThrough: String? { causeParts.brokenThrough }

    /// Whether it was muted before its banner came back after a snooze.
    public var wasMuted: Bool { causes.contains(Outcome.muted.rawValue) }

    /// Sets all five.
    public mutating func setCause(
        delay: BannerDelay?, verdict: Verdict?, successor: EventID? = nil, wasMuted: Bool = false,
        brokenThrough: String? = nil
    ) {
        let isUnexpected =
            switch outcome {
            case .retracted: verdict == .recorded
            case .dismissed, .withdrawn: verdict != nil
            case .claimed, .shown, .silent, .muted, .expired, .replaced: false
            }
        let words = [
            delay?.rawValue, isUnexpected ? verdict?.rawValue : nil, successor?.description,
            wasMuted ? Outcome.muted.rawValue : nil, brokenThrough.map { "\(Self.through) \($0)" },
        ].compactMap(\.self)
        cause = words.isEmpty ? nil : words.joined(separator: " ")
    }

    private static let through = "through"

    private var causes: [String] { causeParts.words }

    /// The text after `through` may be anything, because it ends with a topic.
    private var causeParts: (words: [String], brokenThrough: String?) {
        switch outcome {
        case .shown, .retracted, .dismissed, .withdrawn, .replaced:
            let words = (cause ?? "").split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            guard let mark = words.firstIndex(of: Self.through) else { return (words, nil) }
            return (Array(words[..<mark]), words[(mark + 1)...].joined(separator: " "))
        case .claimed, .silent, .muted, .expired: return ([], nil)
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
        let wasMuted = shown.outcome == .muted || shown.wasMuted
        // What comes back after a snooze has a banner or a cause of its own.
        if outcome == .muted || outcome == .expired { return decision }
        if outcome == .shown {
            decision.setCause(delay: delay, verdict: nil, wasMuted: wasMuted, brokenThrough: brokenThrough)
            return decision
        }
        decision.lateness = lateness ?? shown.lateness
        decision.count = count ?? shown.count
        decision.setCause(
            delay: shown.delay, verdict: verdict, successor: successor, wasMuted: wasMuted,
            brokenThrough: shown.brokenThrough)
        return decision
    }
}
