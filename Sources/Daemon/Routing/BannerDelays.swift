/// When each cause of delay last ended.
struct BannerDelays: Sendable {
    private var absence: Instant?
    private var cooldown: Instant?
    private var failure: Instant?
    private var limit: Instant?
    private var earlierCall: Instant?

    /// - Parameter now: when the cause ended; for a failure, when it was noticed.
    mutating func ended(_ cause: BannerDelay, at now: Instant) {
        switch cause {
        case .absent: absence = now
        case .resting: cooldown = now
        case .failed: failure = now
        case .limited: limit = now
        case .busy: earlierCall = now
        }
    }

    /// The cause of delay of a banner that is asked for now; of several, the one that says most.
    ///
    /// - Parameters:
    ///   - deadline: when its event's window ended.
    ///   - isSummary: only the summary is delayed by the rate limit.
    func delay(since deadline: Instant, isSummary: Bool) -> BannerDelay? {
        func isLater(_ moment: Instant?) -> Bool { moment.map { $0 > deadline } ?? false }
        if isLater(absence) { return .absent }
        if isLater(cooldown) { return .resting }
        if isLater(failure) { return .failed }
        if isSummary, isLater(limit) { return .limited }
        return isLater(earlierCall) ? .busy : nil
    }
}
