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
    /// One of each topic. A screen that is not wanted any more may be opening; `.waiting` is none of them.
    private var known: [Known] = []
    /// Calls that are awaited at a time. notifyd takes 256 screens of a connection, and where wishes change faster than
    /// it answers, what is wanted last would be beyond that.
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
    package mutating func refused(_ topic: Topic, reason: String) -> [Action] {
        guard let index = index(of: topic), case .opening = known[index].screen else { return [] }
        if wanted[topic] == nil { known.remove(at: index) } else { known[index].screen = .refused(reason: reason) }
        var actions: [Action] = []
        answered(&actions)
        return actions
    }

    /// The error reply to `update`.
    ///
    /// - Parameter isUnknown: notifyd knows no such screen, so it can be opened again.
    package mutating func updateFailed(
        _ topic: Topic, _ id: ScreenID, isUnknown: Bool, reason: String
    ) -> [Action] {
        guard let index = index(of: topic), case .open(id, _) = known[index].screen else { return [] }
        var actions: [Action] = []
        if isUnknown { known.remove(at: index) } else { known[index].screen = .refused(reason: reason) }
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
