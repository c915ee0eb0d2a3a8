package import Routing

/// The screens that a program wants to hold: at most one for a topic.
///
/// They are a list, which is looked through, here and in `ScreenReconciler`: they are few, nearly always one, and to
/// hash a topic takes longer than to compare it with that one.
package struct WantedScreens: Equatable, Sendable {
    /// notifyd allows 256 of a connection; what a user looks at is far less.
    package static let limit = 64

    package struct Wanted: Equatable, Sendable {
        package let topic: Topic
        package fileprivate(set) var state: Screen.State
    }

    /// In the order in which they were added.
    package private(set) var screens: [Wanted] = []

    package init() {}

    /// As which screen a topic is wanted; `nil`: it is not.
    package subscript(_ topic: Topic) -> Screen.State? {
        for wanted in screens where wanted.topic == topic { return wanted.state }
        return nil
    }

    /// The same, of which nobody sees any.
    package var hidden: WantedScreens {
        var hidden = self
        for index in hidden.screens.indices { hidden.screens[index].state = .hidden }
        return hidden
    }

    /// Adds a screen. Of two states of a topic, the one that the user sees better counts.
    ///
    /// - Returns: whether it was added: not beyond the limit, so add first what matters most, and not if no message can
    ///   carry the topic. Strangers choose titles and addresses.
    @discardableResult
    package mutating func insert(_ topic: Topic, _ state: Screen.State) -> Bool {
        for index in screens.indices where screens[index].topic == topic {
            if state.visibility > screens[index].state.visibility { screens[index].state = state }
            return true
        }
        guard screens.count < Self.limit, topic.description.fitsIntoMessage else { return false }
        screens.append(Wanted(topic: topic, state: state))
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
