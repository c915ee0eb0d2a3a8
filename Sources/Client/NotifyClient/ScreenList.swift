/// An open screen of any program, as the daemon lists it.
public struct ListedScreen: Hashable, Sendable {
    /// The daemon's number for it.
    public var id: UInt64
    /// The screen covers this topic and everything below it.
    public var topic: String
    /// Who decides about its events.
    public var mode: Screen.Mode
    /// How well the user sees it.
    public var state: Screen.State
    /// The unique name of the connection that holds it.
    public var owner: String

    public init(id: UInt64, topic: String, mode: Screen.Mode, state: Screen.State, owner: String) {
        self.id = id
        self.topic = topic
        self.mode = mode
        self.state = state
        self.owner = owner
    }
}

extension NotifyClient {
    /// All open screens, of all programs, oldest first.
    public func screens() async throws(NotifyError) -> [ListedScreen] {
        try await call("ListScreens", [], autoStart: false).arguments.first.list(ListedScreen.init)
    }
}

extension ListedScreen {
    /// From `(tssss)`.
    init?(_ entry: Value) {
        guard let members = entry.elements, members.count >= 5,
            case .uint64(let id) = members[0],
            case .string(let topic) = members[1],
            case .string(let mode) = members[2],
            case .string(let state) = members[3],
            case .string(let owner) = members[4]
        else { return nil }
        self.init(
            id: id, topic: topic, mode: Screen.Mode(rawValue: mode), state: Screen.State(rawValue: state), owner: owner)
    }
}
