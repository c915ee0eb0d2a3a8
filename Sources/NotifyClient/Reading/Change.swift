/// What happened to the current value of a topic.
public struct Change: Hashable, Sendable {
    /// The kind of a change. More may come, so a `switch` over it needs a `default`.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The topic had no value as far as the watcher knew, and has one now.
        public static let added = Kind(rawValue: "added")
        /// Another value took the place of the one before.
        public static let modified = Kind(rawValue: "modified")
        /// The topic has no value any more.
        public static let removed = Kind(rawValue: "removed")
    }

    /// What happened to the value.
    public var kind: Kind
    /// Whose value it is.
    public var topic: String
    /// The value; of one that is removed the last that was known.
    public var value: Event

    public init(_ kind: Kind, _ value: Event) {
        self.kind = kind
        self.value = value
        topic = value.topic
    }
}
