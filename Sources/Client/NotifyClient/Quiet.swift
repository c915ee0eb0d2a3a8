/// A pause of all banners, the desktop's own “do not disturb”, or a mute or a schedule for banners at or below a topic.
public struct Quiet: Hashable, Sendable {
    /// Why. More may come, so a `switch` over it needs a `default`.
    public struct Cause: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// All banners are paused.
        public static let paused = Cause(rawValue: "paused")
        /// The topic is muted.
        public static let muted = Cause(rawValue: "muted")
        /// A schedule of the configuration is on.
        public static let schedule = Cause(rawValue: "schedule")
        /// The desktop's own “do not disturb” is on. It is switched off there, and critical events come through.
        public static let desktop = Cause(rawValue: "desktop")
    }

    /// No banners appear at or below this topic; `/` stands for every topic.
    public var topic: String
    /// When it ends by itself, in microseconds since 1970-01-01 00:00 UTC; `nil` if it lasts until it is ended.
    public var until: Int64?
    /// Why.
    public var cause: Cause

    public init(topic: String, until: Int64? = nil, cause: Cause) {
        self.topic = topic
        self.until = until
        self.cause = cause
    }

    /// Whether it covers every topic at or below another one.
    public func covers(_ other: String) -> Bool {
        TopicFilter.covers(topic, other)
    }
}

extension Quiet {
    /// From the property `Quiet`: a(sxs).
    package static func list(_ value: Value?) -> [Quiet] {
        (value?.elements ?? []).compactMap { entry in
            guard let members = entry.elements, members.count >= 3, let topic = members[0].string,
                let until: Int64 = members[1].integer(), let cause = members[2].string
            else { return nil }
            return Quiet(topic: topic, until: until == 0 ? nil : until, cause: Cause(rawValue: cause))
        }
    }
}
