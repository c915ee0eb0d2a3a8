/// The subscribers to the daemon's signals. The table outlives connections: a new connection takes its match rules from
/// here.
final class SubscriberTable: Sendable {
    enum Announcement: Sendable {
        case signal(any Announced)
        /// There is another daemon, or none.
        case daemon
    }

    struct Subscriber: Sendable {
        let rules: [MatchRule]
        let receive: @Sendable (Announcement) -> Void
        let end: @Sendable (NotifyError) -> Void
    }

    private struct State {
        /// The unique name of the daemon. The bus filters broadcasts by sender, but delivers a unicast signal without
        /// checking match rules. So signals from other senders are dropped here.
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
        for listener in listeners { listener.receive(.daemon) }
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
        guard !listeners.isEmpty, let kind = Self.signals.first(where: { $0.signal == signal.member }),
            let announced = kind.init(arguments: signal.arguments)
        else { return }
        // Outside the lock, because ending a subscription calls remove().
        for listener in listeners { listener.receive(.signal(announced)) }
    }

    private static let signals: [any Announced.Type] = [
        Event.self, Outcome.self, Action.self, Removal.self, Attention.self,
    ]
}

/// What a signal of the daemon says.
protocol Announced: Sendable {
    /// The name of the signal.
    static var signal: String { get }
    var topic: String { get }
    init?(arguments: [Value])
}
