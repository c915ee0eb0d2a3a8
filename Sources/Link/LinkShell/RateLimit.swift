import Linking
import Routing

/// Lets so many messages of a map through a second, and counts the rest.
struct RateLimit {
    /// Messages a second.
    static let perSecond = 10
    /// Messages at once.
    static let burst = 100
    /// Between two tellings of what was dropped.
    private static let pause: Duration = .seconds(60)

    private var bucket: TokenBucket
    private var told: Uptime?
    private var dropped = 0

    init(at now: Uptime) { bucket = TokenBucket(perSecond: Double(Self.perSecond), burst: Self.burst, at: now) }

    mutating func take(at now: Uptime) -> Bool { bucket.take(at: now) }

    /// A message is lost.
    ///
    /// - Returns: how many were lost since this was told last; `nil` if it is too early to tell again.
    mutating func drop(at now: Uptime) -> Int? {
        dropped += 1
        guard told.map({ $0 + Self.pause <= now }) ?? true else { return nil }
        told = now
        defer { dropped = 0 }
        return dropped
    }
}
