/// A topic that has no current value any more, because it was taken away or its time ran out: the signal `Removed`.
public struct Removal: Hashable, Sendable {
    /// The topic that has no value any more.
    public var topic: String
    /// The id of the removal itself, above that of the value.
    public var id: EventID

    public init(topic: String, id: EventID) {
        self.topic = topic
        self.id = id
    }
}

extension Removal {
    /// From the arguments of the signal: `s t`.
    init?(arguments: [Value]) {
        guard arguments.count >= 2, case .string(let topic) = arguments[0], case .uint64(let id) = arguments[1] else {
            return nil
        }
        self.init(topic: topic, id: EventID(rawValue: id))
    }
}
