/// Topics of a server where this user may not write. What goes there waits, and is tried rarely; the other topics go
/// on.
public struct ClosedTopics: Equatable, Sendable {
    /// A topic is tried again after a minute, and later once in half an hour.
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
