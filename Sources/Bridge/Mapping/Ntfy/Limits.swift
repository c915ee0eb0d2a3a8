import NotifyText

/// How fast a server is read, so that one that says more than anybody publishes takes neither this machine nor the
/// turns of the other servers. What comes faster stays in the network.
public struct ReadingLimit: Equatable, Sendable {
    /// A server that was away says at once what it has kept.
    public static let lines = 2000
    public static let linesPerSecond = 250
    /// A line that is passed over may have 8 MiB.
    public static let bytes = 10 << 20
    public static let bytesPerSecond = 512 << 10
    /// A small piece of the stream costs as much as so many bytes.
    static let leastPiece = 1024

    private var lineBucket = TokenBucket(every: Duration.seconds(1) / Self.linesPerSecond, burst: Self.lines)
    private var byteBucket = TokenBucket(every: Duration.seconds(1) / Self.bytesPerSecond, burst: Self.bytes)

    public init() {}

    /// A piece of the stream was read.
    ///
    /// - Parameters:
    ///   - lines: that ended in it.
    ///   - bytes: of the piece.
    ///   - now: the time of a clock that never goes back.
    /// - Returns: how long to wait before the next piece is read.
    public mutating func read(lines: Int, bytes: Int, at now: Duration) -> Duration {
        max(lineBucket.spend(lines, at: now), byteBucket.spend(max(bytes, Self.leastPiece), at: now))
    }
}

/// Counts the lines of a connection that are not messages, empty ones among them. A server of ntfy says hardly any.
public struct MalformedLines: Equatable, Sendable {
    /// So many are borne.
    public static let maximum = 20
    /// So many messages make up for one line that is none.
    public static let messagesForOne = 20

    private var count = 0
    private var messages = 0

    public init() {}

    /// Whether the connection is to be given up.
    public var areTooMany: Bool { count > Self.maximum }

    /// Lines have come that are not messages.
    public mutating func add(_ lines: Int = 1) { count += lines }

    /// A message has come.
    public mutating func addMessage() {
        messages += 1
        if messages.isMultiple(of: Self.messagesForOne) { count = max(count - 1, 0) }
    }
}

/// How many requests a server takes: so many at once, and then one in a while; what it says itself comes first.
public struct RequestLimit: Equatable, Sendable {
    /// What ntfy allows a visitor unless its configuration says something else.
    public static let burst = 60
    public static let interval: Duration = .seconds(5)

    private var bucket: TokenBucket
    /// The server has said not to come before.
    private var closed = Duration.zero

    public init(burst: Int = Self.burst, interval: Duration = Self.interval) {
        bucket = TokenBucket(every: interval, burst: burst)
    }

    /// Takes a request.
    ///
    /// - Parameter now: the time of a clock that also runs while the machine sleeps.
    /// - Returns: `nil` if it may be made now, else how long to wait before asking again.
    public mutating func take(at now: Duration) -> Duration? {
        if closed > now { return closed - now }
        return bucket.take(at: now) ? nil : bucket.wait(at: now)
    }

    /// The server has refused a request: not before the time that it says, if it does, or else its bucket is empty.
    ///
    /// - Parameter pause: at most an hour is believed.
    public mutating func refused(at now: Duration, pause: Duration?) {
        if pause == nil { bucket.spend(bucket.available(at: now), at: now) }
        closed = max(closed, now + min(max(pause ?? bucket.interval, .seconds(1)), .seconds(3600)))
    }
}

/// Topics of a server where this user may not write. What goes there waits, and is tried rarely; the other topics go
/// on.
public struct ClosedTopics: Equatable, Sendable {
    /// A topic is tried again after a minute, and later once in half an hour: not by a `Backoff`, half of whose pauses
    /// are shorter, since no other client waits for the same topic.
    static let firstPause: Duration = .seconds(60)
    static let lastPause: Duration = .seconds(1800)
    /// So much waits for one topic; the oldest gives way.
    public static let maximumWaiting = 200

    private struct Closure: Equatable {
        var until: Duration
        var pause: Duration
    }

    private var closures: [String: Closure] = [:]

    public init() {}

    /// In the order of their names.
    public var names: [String] { closures.keys.sorted() }

    /// When the first of them is tried again.
    public var next: Duration? { closures.values.map(\.until).min() }

    /// Whether nothing is sent to a topic for now.
    public func isClosed(_ name: String, at now: Duration) -> Bool { closures[name].map { $0.until > now } ?? false }

    /// The server has refused what was sent to a topic.
    public mutating func close(_ name: String, at now: Duration) {
        let pause = closures[name].map { min($0.pause * 2, Self.lastPause) } ?? Self.firstPause
        closures[name] = Closure(until: now + pause, pause: pause)
    }

    /// The server has taken something for a topic.
    public mutating func open(_ name: String) { closures[name] = nil }
}
