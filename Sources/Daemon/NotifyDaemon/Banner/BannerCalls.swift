import DequeModule
import Routing

/// What a notification server says about banners whose numbers are not known yet.
///
/// A user may close a banner, or press its button, before the server has answered the call that shows it. While a call
/// is under way, such signals are kept, and they count if an answer names their number. Others are about banners of
/// other programs.
struct EarlySignals {
    enum Signal: Equatable {
        case token(String)
        case pressed(String)
        case closed(reason: UInt32)
    }

    /// Signals that are kept; the oldest are dropped.
    static let limit = 64
    /// Bytes of a key or a token that is kept.
    static let textLimit = 1024

    private var calls: Set<BannerCall> = []
    private var signals = Deque<(banner: BannerID, signal: Signal)>()

    mutating func callBegan(_ call: BannerCall) {
        calls.insert(call)
    }

    /// - Parameter banner: the number in the answer.
    /// - Returns: the signals about it, oldest first.
    mutating func callEnded(_ call: BannerCall, banner: BannerID?) -> [Signal] {
        calls.remove(call)
        let found = signals.filter { $0.banner == banner }.map(\.signal)
        signals.removeAll { calls.isEmpty || $0.banner == banner }
        return found
    }

    mutating func keep(_ signal: Signal, about banner: BannerID) {
        guard !calls.isEmpty else { return }
        switch signal {
        case .token(let text), .pressed(let text): guard text.utf8.count <= Self.textLimit else { return }
        case .closed: break
        }
        if signals.count == Self.limit { signals.removeFirst() }
        signals.append((banner, signal))
    }
}

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
