public import Mapping
import NotifyText
public import Routing

/// Sends events out to a topic of a server; notifyd-ntfy.toml(5).
public struct PublishMap: Equatable, Sendable {
    /// When an event goes out.
    public enum Moment: Equatable, Sendable {
        /// When its window is over and nobody has claimed it.
        case always
        /// The same while all sessions are locked or idle, and else if nobody has claimed it for so long.
        case away(after: Duration)
    }

    /// The topic at the server.
    public var name: String
    /// Events at or below one of these go out.
    public var topics: [TopicPrefix]
    public var moment: Moment
    /// `nil`: that of the event.
    public var title: MessageTemplate?
    /// `nil`: the body of the event.
    public var message: MessageTemplate?
    /// Whether a claim here is said there, and one there is taken here.
    public var clears: Bool
    /// Whether events of the user's other devices go out too.
    public var isLinked: Bool

    public init(
        name: String, topics: [TopicPrefix], moment: Moment, title: MessageTemplate? = nil,
        message: MessageTemplate? = nil, clears: Bool = true, isLinked: Bool = false
    ) {
        self.name = name
        self.topics = topics
        self.moment = moment
        self.title = title
        self.message = message
        self.clears = clears
        self.isLinked = isLinked
    }

    /// Whether an event goes out at all: what a server of ntfy has brought never does, nor what is private, and what
    /// another device has said only if the map says so.
    public func takes(topic: Topic, source: String, via: String) -> Bool {
        guard topics.contains(where: { $0.covers(topic) }),
            !source.utf8.starts(with: ServerAddress.sourcePrefix.utf8), !source.isPrivateSource
        else { return false }
        return isLinked || !(via == "mqtt" || via.utf8.starts(with: "mqtt:".utf8))
    }

    /// When it is to be decided whether an event goes out, as a time on the wall clock in microseconds.
    ///
    /// - Parameters:
    ///   - accepted: when notifyd had the event.
    ///   - window: the time to claim it, in milliseconds.
    public func decision(accepted: Int64, window: Int64) -> Int64 {
        accepted &+ window &* 1000 &+ Self.slack
    }

    /// When an event goes out at the latest, if nobody claims it; `nil`: at its decision.
    public func deadline(accepted: Int64, window: Int64) -> Int64? {
        guard case .away(let after) = moment else { return nil }
        let (seconds, attoseconds) = after.components
        let time = accepted &+ seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000
        return max(time, decision(accepted: accepted, window: window))
    }

    /// An outcome needs a moment to get to the disk.
    private static let slack: Int64 = 250_000

    /// Whether an event with this outcome is still to be told: it waits, or its banner was shown.
    public static func isOpen(outcome: String) -> Bool { outcome.isEmpty || outcome == "shown" }
}
