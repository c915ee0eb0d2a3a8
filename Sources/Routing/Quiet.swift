/// What holds banners back for now: all of them are paused, or those at or below a topic are muted.
public struct Quiet: Hashable, Sendable {
    /// Who asked for it.
    public enum Cause: String, Sendable, CaseIterable {
        /// All banners are paused.
        case paused
        /// A topic is muted.
        case muted
    }

    /// Banners at or below this topic are held back; a pause holds back all of them.
    public let topic: TopicPrefix
    /// Why.
    public let cause: Cause
    /// When it ends by itself; `nil` for a pause that lasts until it is taken back.
    public let ends: Uptime?

    public init(_ topic: TopicPrefix, _ cause: Cause, ends: Uptime?) {
        self.topic = topic
        self.cause = cause
        self.ends = ends
    }
}
