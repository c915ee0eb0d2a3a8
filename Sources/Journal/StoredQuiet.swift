public import Routing

/// A pause or a mute as it is kept.
public struct StoredQuiet: Sendable, Equatable {
    public var topic: TopicPrefix
    public var cause: Quiet.Cause
    /// `nil` for a pause that lasts until it is taken back.
    public var end: End?

    /// When it ends, and how much of it was left when that was written: after another boot the wall clock has to do, and one
    /// that was set back must not prolong it.
    public struct End: Sendable, Equatable {
        public var moment: Expiry
        /// Microseconds.
        public var left: Int64

        public init(moment: Expiry, left: Int64) {
            self.moment = moment
            self.left = left
        }

        /// What is left at a moment; negative when it is over.
        public func left(wall: Int64, uptime: Int64, boot: String) -> Duration {
            min(moment.left(wall: wall, uptime: uptime, boot: boot), .microseconds(left))
        }
    }

    public init(topic: TopicPrefix, cause: Quiet.Cause, end: End?) {
        self.topic = topic
        self.cause = cause
        self.end = end
    }

    var checksum: Int64 {
        var sum = Checksum()
        sum.add(topic.description)
        sum.add(cause.rawValue)
        for number in [end?.moment.wall, end?.moment.uptime, end?.left] { sum.add(number) }
        sum.add(end?.moment.boot)
        return sum.value
    }
}
