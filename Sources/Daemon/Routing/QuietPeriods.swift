/// A pause of all banners or a mute of those at or below a topic.
public struct Quiet: Hashable, Sendable {
    /// A pause or a mute.
    public enum Cause: String, Sendable, CaseIterable {
        /// All banners are paused.
        case paused
        /// A topic is muted.
        case muted
    }

    /// Banners at or below this topic are held back; `all` for a pause.
    public let topic: TopicPrefix
    /// Whether it is a pause or a mute.
    public let cause: Cause
    /// When it ends; `nil` for a pause until it is lifted.
    public let ends: Uptime?

    public init(_ topic: TopicPrefix, _ cause: Cause, ends: Uptime?) {
        self.topic = topic
        self.cause = cause
        self.ends = ends
    }
}

/// The pause of all banners and the mutes of topics. They are independent: each ends at its own time or when it is lifted.
struct QuietPeriods {
    typealias TimerID = Router.LifetimeTimers.TimerID

    private struct Period {
        /// `nil`: until it is lifted.
        let ends: Uptime?
        /// Armed for the end.
        let timer: TimerID?
    }

    private var pause: Period?
    private var mutes: [TopicPrefix: Period] = [:]

    var isPaused: Bool { pause != nil }
    var muteCount: Int { mutes.count }
    var pauseTimer: TimerID? { pause?.timer }

    func isMuted(_ topic: TopicPrefix) -> Bool { mutes[topic] != nil }

    func muteTimer(of topic: TopicPrefix) -> TimerID? { mutes[topic]?.timer }

    /// The pause first, then mutes in the byte order of their topics.
    var all: [Quiet] {
        let muted = mutes.sorted { left, right in
            left.key.description.utf8.lexicographicallyPrecedes(right.key.description.utf8)
        }
        return (pause.map { [Quiet(.all, .paused, ends: $0.ends)] } ?? [])
            + muted.map { Quiet($0.key, .muted, ends: $0.value.ends) }
    }

    /// What holds back banners for this topic: the pause, or else the nearest mute at or above it.
    func covering(_ topic: Topic) -> Quiet? {
        if let pause { return Quiet(.all, .paused, ends: pause.ends) }
        guard !mutes.isEmpty else { return nil }
        var prefix: TopicPrefix? = TopicPrefix(topic)
        while let candidate = prefix {
            if let mute = mutes[candidate] { return Quiet(candidate, .muted, ends: mute.ends) }
            prefix = candidate.parent
        }
        return nil
    }

    /// - Returns: whether anything changed.
    mutating func pauseUntilLifted() -> Bool {
        guard pause == nil || pause?.ends != nil else { return false }
        pause = Period(ends: nil, timer: nil)
        return true
    }

    mutating func pause(until end: Uptime, timer: TimerID) {
        pause = Period(ends: end, timer: timer)
    }

    /// - Returns: whether there was a pause.
    mutating func liftPause() -> Bool {
        pause.take() != nil
    }

    mutating func mute(_ topic: TopicPrefix, until end: Uptime, timer: TimerID) {
        mutes[topic] = Period(ends: end, timer: timer)
    }

    /// - Returns: whether this very topic was muted.
    mutating func liftMute(_ topic: TopicPrefix) -> Bool {
        mutes.removeValue(forKey: topic) != nil
    }
}
