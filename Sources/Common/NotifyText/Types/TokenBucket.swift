/// Allows a number of things a second, and some at once. Times are those of one clock that never goes back.
public struct TokenBucket: Equatable, Sendable {
    /// The time that one thing takes.
    public let interval: Duration
    /// How many are allowed at once.
    public let burst: Int
    /// When everything that was taken is paid for.
    private var paid: Duration = .zero

    /// A bucket that is full.
    ///
    /// - Parameters:
    ///   - interval: the time that one thing takes.
    ///   - burst: how many are allowed at once.
    public init(every interval: Duration, burst: Int) {
        self.interval = interval
        self.burst = burst
    }

    /// The time until a number can be taken; zero if it can be taken now.
    public func wait(for count: Int = 1, at now: Duration) -> Duration {
        max(max(paid, now) + interval * count - now - interval * burst, .zero)
    }

    /// How many can be taken now.
    public func available(at now: Duration) -> Int {
        Int((interval * burst - max(paid - now, .zero)) / interval + 1e-9)
    }

    /// Takes a number, if they can be taken now.
    public mutating func take(_ count: Int = 1, at now: Duration) -> Bool {
        guard wait(for: count, at: now) == .zero else { return false }
        spend(count, at: now)
        return true
    }

    /// Takes a number that could not be asked for before.
    ///
    /// - Returns: how long nothing more should be taken.
    @discardableResult
    public mutating func spend(_ count: Int, at now: Duration) -> Duration {
        paid = max(paid, now) + interval * count
        return wait(for: 0, at: now)
    }
}

extension Uptime {
    /// The time since boot.
    public var duration: Duration { .microseconds(microseconds) }
}
