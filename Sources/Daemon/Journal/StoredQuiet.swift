public import Routing

/// A stored pause or mute, or a schedule that was lifted.
public struct StoredQuiet: Sendable, Equatable {
    public var topic: TopicPrefix
    public var cause: Quiet.Cause
    /// `nil` for a pause without an end, and for a schedule.
    public var end: End?
    /// For a schedule: when the lifted period began, in microseconds since the epoch.
    public var began: Int64?

    /// The end, and the time that was left when it was stored. After another boot the wall clock counts; a wall clock
    /// that was set back must not prolong the pause.
    public struct End: Sendable, Equatable {
        public var moment: Expiry
        /// Microseconds.
        public var left: Int64

        public init(moment: Expiry, left: Int64) {
            self.moment = moment
            self.left = left
        }

        /// The time that is left; negative if it has passed.
        public func left(wall: Int64, uptime: Int64, boot: String) -> Duration {
            min(moment.left(wall: wall, uptime: uptime, boot: boot), .microseconds(left))
        }
    }

    public init(topic: TopicPrefix, cause: Quiet.Cause, end: End?, began: Int64? = nil) {
        self.topic = topic
        self.cause = cause
        self.end = end
        self.began = began
    }
}
