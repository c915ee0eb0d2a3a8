/// A button that the user pressed on a banner: the signal `ActionInvoked`.
public struct Action: Hashable, Sendable {
    /// The newest event of the banner.
    public var id: EventID
    /// Where the event belongs.
    public var topic: String
    /// The key of the action, as its route names it, such as `accept`; `default` for the banner itself.
    public var action: String

    public init(id: EventID, topic: String, action: String) {
        self.id = id
        self.topic = topic
        self.action = action
    }
}

extension Action: Announced {
    static let signal = "ActionInvoked"

    /// From the arguments of the signal: `s t s`.
    init?(arguments: [Value]) {
        guard arguments.count >= 3,
            case .string(let topic) = arguments[0],
            case .uint64(let id) = arguments[1],
            case .string(let action) = arguments[2]
        else { return nil }
        self.init(id: EventID(rawValue: id), topic: topic, action: action)
    }
}
