/// The subscribers to the daemon's signals. The table outlives connections: a new connection takes its match rules from here.
final class SubscriberTable: Sendable {
    enum Announcement: Sendable {
        case event(Event)
        case outcome(Outcome)
        case action(Action)
        case removal(Removal)
        /// The new unique name of the daemon, or `nil` when it has left the bus.
        case daemon(String?)
    }

    struct Subscriber: Sendable {
        let rules: [MatchRule]
        let receive: @Sendable (Announcement) -> Void
        let end: @Sendable (NotifyError) -> Void
    }

    private struct State {
        /// The unique name of the daemon. The bus filters broadcasts by sender, but delivers a unicast signal without checking
        /// match rules. So signals from other senders are dropped here.
        var daemon: String?
        var subscribers: [(id: UInt64, subscriber: Subscriber)] = []
    }

    private let state = Locked(State())

    var rules: [MatchRule] { state.withLock { $0.subscribers.flatMap(\.subscriber.rules) } }
    var isEmpty: Bool { state.withLock { $0.subscribers.isEmpty } }

    func add(_ subscriber: Subscriber, id: UInt64) {
        state.withLock { $0.subscribers.append((id, subscriber)) }
    }

    func contains(_ id: UInt64) -> Bool { state.withLock { $0.subscribers.contains { $0.id == id } } }

    @discardableResult
    func remove(_ id: UInt64) -> Subscriber? {
        state.withLock { state in
            guard let index = state.subscribers.firstIndex(where: { $0.id == id }) else { return nil }
            return state.subscribers.remove(at: index).subscriber
        }
    }

    func removeAll() -> [Subscriber] {
        state.withLock { state in
            defer { state.subscribers = [] }
            return state.subscribers.map(\.subscriber)
        }
    }

    /// The unique name of the daemon, while it is on the bus.
    var daemon: String? { state.withLock { $0.daemon } }

    func setDaemon(_ name: String?) {
        let listeners = state.withLock { state in
            state.daemon = name
            return state.subscribers.map(\.subscriber)
        }
        for listener in listeners { listener.receive(.daemon(name)) }
    }

    /// Handles every signal of the connection, in order.
    func receive(_ signal: Message) {
        if signal.sender == Bus.name, signal.member == "NameOwnerChanged", signal.arguments.count == 3 {
            guard signal.arguments[0].string == Router.name, let owner = signal.arguments[2].string else { return }
            setDaemon(owner.isEmpty ? nil : owner)
        } else if signal.interface == Router.interface {
            announce(signal)
        }
    }

    private func announce(_ signal: Message) {
        let listeners = state.withLock { state in
            state.daemon == nil || state.daemon != signal.sender ? [] : state.subscribers.map(\.subscriber)
        }
        guard !listeners.isEmpty, let announcement = Announcement(signal) else { return }
        // Outside the lock, because ending a subscription calls remove().
        for listener in listeners { listener.receive(announcement) }
    }
}

extension SubscriberTable.Announcement {
    init?(_ signal: Message) {
        switch signal.member {
        case "Event":
            guard let event = Event(arguments: signal.arguments) else { return nil }
            self = .event(event)
        case "Resolved":
            guard let outcome = Outcome(arguments: signal.arguments) else { return nil }
            self = .outcome(outcome)
        case "ActionInvoked":
            guard let action = Action(arguments: signal.arguments) else { return nil }
            self = .action(action)
        case "Removed":
            guard let removal = Removal(arguments: signal.arguments) else { return nil }
            self = .removal(removal)
        default: return nil
        }
    }
}
