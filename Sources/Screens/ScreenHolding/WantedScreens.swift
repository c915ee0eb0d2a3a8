package import Routing

/// The screens that a program wants to hold: at most one for a topic.
package struct WantedScreens: Equatable, Sendable {
    /// notifyd allows 256 of a connection; what a user looks at is far less.
    package static let limit = 64

    package private(set) var states: [Topic: Screen.State] = [:]

    package init() {}

    /// Adds a screen. Of two states of a topic, the one that the user sees better counts.
    ///
    /// - Returns: whether it was added: not beyond the limit, so add first what matters most, and not if no message can carry the
    ///   topic. Strangers choose titles and addresses.
    @discardableResult
    package mutating func insert(_ topic: Topic, _ state: Screen.State) -> Bool {
        if let known = states[topic] {
            if state.visibility > known.visibility { states[topic] = state }
            return true
        }
        guard states.count < Self.limit, topic.description.fitsIntoMessage else { return false }
        states[topic] = state
        return true
    }
}

extension Screen.State {
    fileprivate var visibility: Int {
        switch self {
        case .focused: 2
        case .visible: 1
        case .hidden: 0
        }
    }
}
