import NotifyText
package import Routing

/// Decides which screens are opened, changed and closed so that what is held is what is wanted. No bus and no clock:
/// calls to notifyd are its actions, and replies its inputs.
///
/// One call is under way for a screen at most: while it opens, changes wait for its number.
package struct ScreenReconciler {
    /// A call to notifyd.
    package enum Action: Equatable, Sendable {
        /// Reported by `opened` or `refused`.
        case open(Topic, Screen.State)
        /// Reported by `updateFailed`, if it fails.
        case update(Topic, ScreenID, Screen.State)
        case close(ScreenID)
    }

    /// What notifyd has, or was asked for.
    private struct Known {
        let topic: Topic
        var screen: HeldScreen
    }

    private var wanted = WantedScreens()
    private var isConnected = false
    /// At most one for a topic, and never `.waiting`. A screen that is opening may no longer be wanted.
    private var known: [Known] = []
    /// Calls of `open` that are under way at a time. notifyd takes 256 screens of a connection: if wishes change faster
    /// than it answers, screens that are no longer wanted would use up that number.
    private static let mostOpening = 128
    private var opening = 0

    package init() {}

    /// Whether a reply to `open` is awaited.
    package var isOpening: Bool { opening > 0 }

    /// Every wanted screen.
    package var held: [Topic: HeldScreen] {
        wanted.screens.reduce(into: [:]) { $0[$1.topic] = self[$1.topic] ?? .waiting }
    }

    /// Takes what is wanted from now on.
    package mutating func want(_ screens: WantedScreens) -> [Action] {
        wanted = screens
        guard isConnected else { return [] }
        var actions: [Action] = []
        for index in known.indices.reversed() where wanted[known[index].topic] == nil {
            letGo(at: index, &actions)
        }
        holdAll(&actions)
        return actions
    }

    /// notifyd has come, or another one has taken its place: it knows none of our screens.
    package mutating func connected() -> [Action] {
        disconnected()
        isConnected = true
        var actions: [Action] = []
        holdAll(&actions)
        return actions
    }

    /// notifyd has left, and its screens with it.
    package mutating func disconnected() {
        known = []
        opening = 0
        isConnected = false
    }

    /// The reply to `open`.
    package mutating func opened(_ topic: Topic, as id: ScreenID) -> [Action] {
        guard let index = index(of: topic), case .opening(let state) = known[index].screen else { return [] }
        known[index].screen = .open(id, state)
        var actions: [Action] = []
        if let state = wanted[topic] { hold(topic, state, &actions) } else { letGo(at: index, &actions) }
        answered(&actions)
        return actions
    }

    /// The error reply to `open`.
    ///
    /// - Parameter error: its name.
    package mutating func refused(_ topic: Topic, reason: String, error: String = "") -> [Action] {
        guard let index = index(of: topic), case .opening = known[index].screen else { return [] }
        if wanted[topic] == nil {
            known.remove(at: index)
        } else {
            known[index].screen = .refused(reason: reason, error: error)
        }
        var actions: [Action] = []
        answered(&actions)
        return actions
    }

    /// The error reply to `update`.
    ///
    /// - Parameters:
    ///   - isUnknown: notifyd knows no such screen, so it can be opened again.
    ///   - error: its name.
    package mutating func updateFailed(
        _ topic: Topic, _ id: ScreenID, isUnknown: Bool, reason: String, error: String = ""
    ) -> [Action] {
        guard let index = index(of: topic), case .open(id, _) = known[index].screen else { return [] }
        var actions: [Action] = []
        if isUnknown {
            known.remove(at: index)
        } else {
            known[index].screen = .refused(reason: reason, error: error)
        }
        if !isUnknown { actions.append(.close(id)) }
        if let state = wanted[topic] { hold(topic, state, &actions) }
        return actions
    }

    // MARK: The next calls

    private subscript(_ topic: Topic) -> HeldScreen? { index(of: topic).map { known[$0].screen } }

    private func index(of topic: Topic) -> Int? {
        for index in known.indices where known[index].topic == topic { return index }
        return nil
    }

    private mutating func holdAll(_ actions: inout [Action]) {
        for wanted in wanted.screens { hold(wanted.topic, wanted.state, &actions) }
    }

    /// The next call for a screen that is wanted, if one is due.
    private mutating func hold(_ topic: Topic, _ state: Screen.State, _ actions: inout [Action]) {
        guard let index = index(of: topic) else {
            guard opening < Self.mostOpening else { return }
            opening += 1
            known.append(Known(topic: topic, screen: .opening(state)))
            return actions.append(.open(topic, state))
        }
        switch known[index].screen {
        case .waiting, .opening, .refused: return
        case .open(let id, let current):
            guard current != state else { return }
            known[index].screen = .open(id, state)
            actions.append(.update(topic, id, state))
        }
    }

    /// The next call for a screen that is not wanted any more, if one is due.
    private mutating func letGo(at index: Int, _ actions: inout [Action]) {
        switch known[index].screen {
        // It is closed when it has its number.
        case .opening: return
        case .open(let id, _): actions.append(.close(id))
        case .waiting, .refused: break
        }
        known.remove(at: index)
    }

    /// A call to `open` was answered: another one may be made.
    private mutating func answered(_ actions: inout [Action]) {
        opening -= 1
        if opening == Self.mostOpening - 1 { holdAll(&actions) }
    }
}

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

    /// The state in which a topic is wanted; `nil` if it is not.
    package subscript(_ topic: Topic) -> Screen.State? {
        for wanted in screens where wanted.topic == topic { return wanted.state }
        return nil
    }

    /// The same screens, all hidden.
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

/// What has become of a wanted screen.
package enum HeldScreen: Equatable, Sendable {
    /// notifyd is not there. The screen is opened when it comes.
    case waiting
    /// notifyd was asked to open it, and has not replied yet.
    case opening(Screen.State)
    case open(ScreenID, Screen.State)
    /// notifyd does not allow it. It is asked again when the screen is wanted again, or when notifyd has restarted.
    /// `error` is the name of the error, if it has one.
    case refused(reason: String, error: String = "")
}
