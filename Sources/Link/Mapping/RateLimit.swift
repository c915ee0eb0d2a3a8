/// Lets so many messages through a second, and counts the rest.
public struct RateLimit: Sendable {
    /// Messages a second.
    public static let perSecond = 10
    /// Messages at once.
    public static let burst = 100
    /// Between two tellings of what was dropped, in microseconds.
    private static let pause: Int64 = 60_000_000

    private var tokens = Double(RateLimit.burst)
    private var last: Int64
    private var told: Int64?
    private var dropped = 0

    /// - Parameter now: microseconds of a clock that is never set.
    public init(at now: Int64) { last = now }

    public mutating func take(at now: Int64) -> Bool {
        tokens = min(Double(Self.burst), tokens + Double(max(0, now - last)) * Double(Self.perSecond) / 1_000_000)
        last = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// A message is lost.
    ///
    /// - Returns: how many were lost since this was told last; `nil` if it is too early to tell again.
    public mutating func drop(at now: Int64) -> Int? {
        dropped += 1
        guard told.map({ now - $0 >= Self.pause }) ?? true else { return nil }
        told = now
        defer { dropped = 0 }
        return dropped
    }
}
