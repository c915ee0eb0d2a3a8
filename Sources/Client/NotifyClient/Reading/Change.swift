/// What happened to the current value of a topic.
public struct Change: Hashable, Sendable {
    /// The kind of a change. More may come, so a `switch` over it needs a `default`.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The topic has a value, and the watcher knew none before.
        public static let added = Kind(rawValue: "added")
        /// The value was replaced.
        public static let modified = Kind(rawValue: "modified")
        /// The topic no longer has a value.
        public static let removed = Kind(rawValue: "removed")
    }

    /// What happened to the value.
    public var kind: Kind
    /// The topic of the value.
    public var topic: String
    /// The value; for `removed`, the last known value.
    public var value: Event

    public init(_ kind: Kind, _ value: Event) {
        self.kind = kind
        self.value = value
        topic = value.topic
    }
}

/// A current value was removed or has expired: the signal `Removed`.
public struct Removal: Hashable, Sendable {
    /// The topic of the value.
    public var topic: String
    /// The id of the removal itself, above that of the value.
    public var id: EventID

    public init(topic: String, id: EventID) {
        self.topic = topic
        self.id = id
    }
}

extension Removal: Announced {
    static let signal = "Removed"

    /// From the arguments of the signal: `s t`.
    init?(arguments: [Value]) {
        guard arguments.count >= 2, case .string(let topic) = arguments[0], case .uint64(let id) = arguments[1] else {
            return nil
        }
        self.init(topic: topic, id: EventID(rawValue: id))
    }
}
