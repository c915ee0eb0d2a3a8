/// When each cause has delayed banners, the last time that it did.
struct BannerDelays: Sendable {
    /// From its beginning to its end without a break.
    private struct Period {
        var start: Instant
        var end: Instant

        static let none = Period(start: .beforeEverything, end: .beforeEverything)

        /// Continues the period if the new one begins before its end. Periods are added in the order of their ends.
        mutating func add(from start: Instant, to end: Instant) {
            self = Period(start: start <= self.end ? min(start, self.start) : start, end: end)
        }

        func length(since moment: Instant) -> Duration { end > moment ? end - max(start, moment) : .zero }
    }

    private var absence = Period.none
    private var cooldown = Period.none
    private var failure = Period.none
    private var limit = Period.none
    private var earlierCall = Period.none

    /// Adds a time in which there was a cause, now that it is over.
    mutating func add(_ cause: BannerDelay, from start: Instant, to end: Instant) {
        switch cause {
        case .absent: absence.add(from: start, to: end)
        case .resting: cooldown.add(from: start, to: end)
        case .failed: failure.add(from: start, to: end)
        case .limited: limit.add(from: start, to: end)
        case .busy: earlierCall.add(from: start, to: end)
        }
    }

    /// The cause of delay of a banner that is asked for now: the one that lasted longest since the deadline. Of several that
    /// lasted equally long it is the first of `BannerDelay`.
    ///
    /// - Parameters:
    ///   - deadline: when its event's window ended.
    ///   - isSummary: only the summary is delayed by the rate limit.
    func delay(since deadline: Instant, isSummary: Bool) -> BannerDelay? {
        var longest: (cause: BannerDelay?, length: Duration) = (nil, .zero)
        func compare(_ cause: BannerDelay, _ period: Period) {
            let length = period.length(since: deadline)
            if length > longest.length { longest = (cause, length) }
        }
        compare(.absent, absence)
        compare(.resting, cooldown)
        compare(.failed, failure)
        if isSummary { compare(.limited, limit) }
        compare(.busy, earlierCall)
        return longest.cause
    }
}

extension Instant {
    /// The start of a cause that was there from the beginning.
    static let beforeEverything = Instant(microseconds: .min)
}
