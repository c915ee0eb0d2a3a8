/// How many requests a server takes: so many at once, and then one in a while; what it says itself comes first.
public struct RequestLimit: Equatable, Sendable {
    /// What ntfy allows a visitor unless its configuration says something else.
    public static let burst = 60
    public static let interval: Duration = .seconds(5)

    private let burst: Int
    private let interval: Duration
    /// When the bucket will be full.
    private var full: Duration
    /// The server has said not to come before.
    private var closed: Duration

    /// - Parameter now: the time of a clock that also runs while the machine sleeps.
    public init(burst: Int = Self.burst, interval: Duration = Self.interval, at now: Duration) {
        self.burst = burst
        self.interval = interval
        full = now
        closed = now
    }

    /// Takes a request.
    ///
    /// - Returns: `nil` if it may be made now, else how long to wait before asking again.
    public mutating func take(at now: Duration) -> Duration? {
        if closed > now { return closed - now }
        let start = max(full, now)
        let wait = start + interval - now - interval * burst
        guard wait <= .zero else { return wait }
        full = start + interval
        return nil
    }

    /// The server has refused a request: not before the time that it says, if it does, or else its bucket is empty.
    ///
    /// - Parameter pause: at most an hour is believed.
    public mutating func refused(at now: Duration, pause: Duration?) {
        if pause == nil { full = max(full, now + interval * burst) }
        closed = max(closed, now + min(max(pause ?? interval, .seconds(1)), .seconds(3600)))
    }
}
