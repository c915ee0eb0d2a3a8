/// The pauses between the attempts to do something that fails: each is random, between nothing and a limit that doubles
/// ("full jitter"), so that the clients of a server that was away do not all come back at once.
public struct Backoff: Sendable {
    private let first: Duration
    private let last: Duration
    private var limit: Duration
    private var random: any RandomNumberGenerator & Sendable

    /// - Parameters:
    ///   - first: the greatest length of the first pause.
    ///   - last: the greatest length of any pause.
    ///   - random: for tests, a generator with known numbers.
    public init(
        from first: Duration = .seconds(1), upTo last: Duration = .seconds(300),
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        precondition(first > .zero && first <= last, "a pause is longer than nothing, and the last one is the longest")
        self.first = first
        self.last = last
        limit = first
        self.random = random
    }

    /// The next pause, after an attempt that failed.
    public mutating func next() -> Duration {
        defer { limit = min(limit * 2, last) }
        return limit * Double.random(in: 0..<1, using: &random)
    }

    /// Begins again with short pauses, after an attempt that succeeded.
    public mutating func reset() { limit = first }
}
