import NotifyClient
import Synchronization

/// Delivers notices for as long as it is retained.
public final class DaemonObservation: Sendable {
    let id: UInt64
    private let end: @Sendable (UInt64) -> Void

    private static let lastID = Atomic<UInt64>(0)

    /// - Parameter end: called with the id when it is released.
    init(_ end: @escaping @Sendable (UInt64) -> Void) {
        id = Self.lastID.add(1, ordering: .relaxed).newValue
        self.end = end
    }

    deinit { end(id) }
}

/// Who gets the notices of a connection, and which signals are asked for.
final class NoticeTable: Sendable {
    struct Entry: Sendable {
        let id: UInt64
        let signals: Set<DaemonSignal>
        let handler: @Sendable (DaemonNotice) -> Void
    }

    private struct State {
        /// The unique name of the daemon, while it is there.
        var daemon: String?
        var entries: [Entry] = []
        /// How many observations want a signal.
        var wants: [DaemonSignal: Int] = [:]
    }

    private let state = Locked(State())

    var daemon: String? { state.withLock { $0.daemon } }

    // MARK: Signals

    /// Asks the bus for signals. What is sent on the connection after this is done after it. On any thread: the bus
    /// counts rules that are equal, so that the order of asking and of ending does not matter.
    func want(_ signals: Set<DaemonSignal>, on connection: Connection) {
        for signal in signals {
            let isNew = state.withLock { state in
                state.wants[signal, default: 0] += 1
                return state.wants[signal] == 1
            }
            if isNew { connection.requestMatch(Self.rule(for: signal)) }
        }
    }

    private func endWanting(_ signals: Set<DaemonSignal>, on connection: Connection) {
        for signal in signals {
            let isLast = state.withLock { state in
                state.wants[signal, default: 0] -= 1
                return state.wants[signal] == 0
            }
            if isLast { connection.removeMatch(Self.rule(for: signal)) }
        }
    }

    private static func rule(for signal: DaemonSignal) -> MatchRule {
        MatchRule(sender: Router.name, interface: Router.interface, member: signal.rawValue)
    }

    // MARK: On the loop of the connection

    func add(_ entry: Entry) {
        let isThere = state.withLock { state in
            state.entries.append(entry)
            return state.daemon != nil
        }
        entry.handler(isThere ? .appeared : .vanished)
    }

    func remove(_ id: UInt64, on connection: Connection) {
        // The handler is released without the lock: what it has captured may hold another observation.
        let removed = state.withLock { state in
            state.entries.firstIndex { $0.id == id }.map { state.entries.remove(at: $0) }
        }
        if let removed { endWanting(removed.signals, on: connection) }
    }

    func setDaemon(_ name: String?) {
        let changes: [DaemonNotice] = state.withLock { state in
            let before = state.daemon
            state.daemon = name
            if before == name { return [] }
            return (before == nil ? [] : [.vanished]) + (name == nil ? [] : [.appeared])
        }
        for notice in changes {
            for entry in state.withLock({ $0.entries }) { entry.handler(notice) }
        }
    }

    /// Handles every signal of the connection, in order. The bus delivers unicast signals of anybody, so the sender is
    /// checked.
    func receive(_ message: Message) {
        if message.sender == Bus.name, message.member == "NameOwnerChanged", message.arguments.count == 3 {
            guard message.arguments[0].string == Router.name, let owner = message.arguments[2].string else { return }
            setDaemon(owner.isEmpty ? nil : owner)
        } else if let sender = message.sender, sender == daemon,
            let kind = message.member.flatMap(DaemonSignal.init), let signal = RouterSignal(message)
        {
            let notice: DaemonNotice =
                switch signal {
                case .event(let event): .event(event)
                case .resolved(let outcome): .resolved(outcome)
                case .removed(let removal): .removed(removal)
                case .attention(let attention): .attention(attention)
                case .action(let action): .action(action)
                }
            for entry in state.withLock({ $0.entries }) where entry.signals.contains(kind) { entry.handler(notice) }
        }
    }
}
