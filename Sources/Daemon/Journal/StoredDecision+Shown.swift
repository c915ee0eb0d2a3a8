public import Routing

/// The contents of `cause` for a shown event: what its banner waited for, the verdict of a later claim if it is not the usual
/// one, and the event that took its place.
extension StoredDecision {
    /// What the banner waited for after the deadline; `nil` if it came in time.
    public var delay: BannerDelay? { causes.lazy.compactMap { BannerDelay(rawValue: $0) }.first }

    /// The verdict of the claim that decided the event.
    public var verdict: Verdict? {
        switch outcome {
        case .claimed: .suppressed
        case .retracted: causes.contains(Verdict.recorded.rawValue) ? .recorded : .retracted
        default: nil
        }
    }

    /// The event that took the place of a replaced one.
    public var successor: EventID? { causes.lazy.compactMap { UInt64($0) }.first.map { EventID($0) } }

    /// Sets all three.
    public mutating func setCause(delay: BannerDelay?, verdict: Verdict?, successor: EventID? = nil) {
        let isUnexpected = outcome == .retracted && verdict == .recorded
        guard isUnexpected || successor != nil else {
            cause = delay?.rawValue
            return
        }
        let words = [delay?.rawValue, isUnexpected ? Verdict.recorded.rawValue : nil, successor?.description]
        cause = words.compactMap(\.self).joined(separator: " ")
    }

    private var causes: [String] {
        switch outcome {
        case .shown, .retracted, .dismissed, .withdrawn, .replaced: cause?.split(separator: " ").map(String.init) ?? []
        default: []
        }
    }

    /// Whether this is the final decision of a shown event. It comes without the window, which the first one has.
    package var followsShown: Bool {
        switch outcome {
        case .retracted, .dismissed, .withdrawn, .replaced: opened == nil
        case .claimed, .shown, .silent, .muted, .expired: false
        }
    }

    /// The final decision of a shown event, with the window and banner of the decision before it.
    package func following(_ shown: StoredDecision) -> StoredDecision {
        var decision = self
        decision.opened = shown.opened
        decision.deadline = shown.deadline
        decision.isReplayed = shown.isReplayed
        decision.isOfEarlierBoot = shown.isOfEarlierBoot
        decision.lateness = lateness ?? shown.lateness
        decision.count = count ?? shown.count
        decision.setCause(delay: shown.delay, verdict: verdict, successor: successor)
        return decision
    }
}
