import Routing

/// Since when a notification server has not answered calls that show a banner.
struct UnansweredCalls {
    private var calls: Set<BannerCall> = []
    var isEmpty: Bool { calls.isEmpty }
    /// When the oldest call since the last answer was made; `nil` if all are answered.
    private(set) var since: Instant?

    mutating func callBegan(_ call: BannerCall, at now: Instant) {
        calls.insert(call)
        since = since ?? now
    }

    /// A call that has timed out stays unanswered until the server answers another one.
    mutating func callEnded(_ call: BannerCall, isAnswered: Bool, at now: Instant) {
        calls.remove(call)
        if isAnswered { since = calls.isEmpty ? nil : now }
    }
}
