package import Routing

/// Decides which screens are opened, changed and closed so that what is held is what is wanted. No bus and no clock: calls to
/// notifyd are its actions, and replies its inputs.
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

    private var wanted = WantedScreens()
    private var isConnected = false
    /// What notifyd has, or was asked for; a screen that is not wanted any more may be opening.
    private var known: [Topic: HeldScreen] = [:]
    /// Calls that are awaited at a time. notifyd takes 256 screens of a connection, and where wishes change faster than it
    /// answers, what is wanted last would be beyond that.
    private static let mostOpening = 128
    private var opening = 0

    package init() {}

    /// Whether a reply to `open` is awaited.
    package var isOpening: Bool { opening > 0 }

    /// Every wanted screen.
    package var held: [Topic: HeldScreen] {
        wanted.states.reduce(into: [:]) { $0[$1.key] = known[$1.key] ?? .waiting }
    }

    /// Takes what is wanted from now on.
    package mutating func want(_ screens: WantedScreens) -> [Action] {
        wanted = screens
        guard isConnected else { return [] }
        let closing = known.keys.filter { wanted.states[$0] == nil }.flatMap { reconcile($0) }
        return closing + wanted.states.keys.flatMap { reconcile($0) }
    }

    /// notifyd has come, or another one has taken its place: it knows none of our screens.
    package mutating func connected() -> [Action] {
        known = [:]
        opening = 0
        isConnected = true
        return wanted.states.keys.flatMap { reconcile($0) }
    }

    /// notifyd has left, and its screens with it.
    package mutating func disconnected() {
        known = [:]
        opening = 0
        isConnected = false
    }

    /// The reply to `open`.
    package mutating func opened(_ topic: Topic, as id: ScreenID) -> [Action] {
        guard case .opening(let state) = known[topic] else { return [] }
        known[topic] = .open(id, state)
        return reconcile(topic) + answered()
    }

    /// The error reply to `open`.
    package mutating func refused(_ topic: Topic, reason: String) -> [Action] {
        guard case .opening = known[topic] else { return [] }
        known[topic] = wanted.states[topic] == nil ? nil : .refused(reason: reason)
        return answered()
    }

    /// A call to `open` was answered: another one may be made.
    private mutating func answered() -> [Action] {
        opening -= 1
        guard opening == Self.mostOpening - 1 else { return [] }
        return wanted.states.keys.filter { known[$0] == nil }.flatMap { reconcile($0) }
    }

    /// The error reply to `update`.
    ///
    /// - Parameter isUnknown: notifyd knows no such screen, so it can be opened again.
    package mutating func updateFailed(
        _ topic: Topic, _ id: ScreenID, isUnknown: Bool, reason: String
    ) -> [Action] {
        guard case .open(id, _) = known[topic] else { return [] }
        known[topic] = isUnknown ? nil : .refused(reason: reason)
        return (isUnknown ? [] : [.close(id)]) + reconcile(topic)
    }

    /// The next call for a topic, if one is due.
    private mutating func reconcile(_ topic: Topic) -> [Action] {
        let state = wanted.states[topic]
        switch (known[topic], state) {
        case (.opening, _), (.refused, .some), (.none, .none), (.waiting, .none): return []
        case (.none, .some(let state)), (.waiting, .some(let state)):
            guard opening < Self.mostOpening else { return [] }
            opening += 1
            known[topic] = .opening(state)
            return [.open(topic, state)]
        case (.open(let id, let current), .some(let state)):
            guard current != state else { return [] }
            known[topic] = .open(id, state)
            return [.update(topic, id, state)]
        case (.open(let id, _), .none):
            known[topic] = nil
            return [.close(id)]
        case (.refused, .none):
            known[topic] = nil
            return []
        }
    }
}
