/// Who wants to hear what the daemon announces. It outlives connections: a new one takes its match rules from here.
final class SubscriberTable: Sendable {
    enum Announcement: Sendable {
        case event(Event)
        case outcome(Outcome)
        case action(Action)
        case removal(Removal)
        /// The daemon is there, as the bus knows it; or it is gone.
        case daemon(String?)
    }

    struct Subscriber: Sendable {
        let rules: [MatchRule]
        let hear: @Sendable (Announcement) -> Void
        let end: @Sendable (NotifyError) -> Void
    }

    private struct State {
        /// The unique name of the daemon. The bus filters broadcasts by sender, but a signal sent to us alone passes no
        /// rule; so what comes from anybody else is dropped here.
        var daemon: String?
        var subscribers: [(id: UInt64, subscriber: Subscriber)] = []
        /// Those whose rules the bus has acknowledged.
        var settled: Set<UInt64> = []
    }

    private let state = Guarded(State())

    /// What a new connection needs. Rules that are still on their way to the bus are sent anew by whoever sends them.
    var rules: [MatchRule] {
        state.withLock { state in
            state.subscribers.filter { state.settled.contains($0.id) }.flatMap(\.subscriber.rules)
        }
    }
    /// Whether there is nobody for whom a lost connection is to be made anew.
    var isEmpty: Bool { state.withLock { $0.settled.isEmpty } }

    /// The subscriber hears from now on, for an event may come right behind the acknowledgement of its rules.
    func add(_ subscriber: Subscriber, id: UInt64) {
        state.withLock { $0.subscribers.append((id, subscriber)) }
    }

    /// The bus has acknowledged the rules.
    func settle(_ id: UInt64) {
        _ = state.withLock { $0.settled.insert(id) }
    }

    @discardableResult
    func remove(_ id: UInt64) -> Subscriber? {
        state.withLock { state in
            state.settled.remove(id)
            guard let index = state.subscribers.firstIndex(where: { $0.id == id }) else { return nil }
            return state.subscribers.remove(at: index).subscriber
        }
    }

    func removeAll() -> [Subscriber] {
        state.withLock { state in
            defer { (state.subscribers, state.settled) = ([], []) }
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
        for listener in listeners { listener.hear(.daemon(name)) }
    }

    /// Hears every signal of the connection, one after the other.
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
        // Outside the lock: ending a subscription comes back to remove().
        for listener in listeners { listener.hear(announcement) }
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
