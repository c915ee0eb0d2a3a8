import NotifyBridge
import NotifyClient

/// How all servers are, as one state of the bridge: the worst one, with a sentence for each server.
final class StatusBoard: Sendable {
    /// What is done with a server.
    enum Direction {
        case inbound, outbound
    }

    private struct Entry {
        var name: String
        var direction: Direction
        var state: BridgeStatus.State
        var detail = ""
        var backlog = 0
    }

    private let status: BridgeStatus
    private let entries = Locked<[Entry]>([])

    init(_ status: BridgeStatus) { self.status = status }

    /// What goes out is tried when there is something, so that it begins as if it were connected.
    func add(_ name: String, _ direction: Direction) {
        entries.withLock { entries in
            let state: BridgeStatus.State = direction == .inbound ? .connecting : .connected
            entries.append(Entry(name: name, direction: direction, state: state))
        }
        show()
    }

    func set(_ name: String, _ direction: Direction, _ state: BridgeStatus.State, _ detail: String = "") {
        change(name, direction) { entry in
            entry.state = state
            entry.detail = detail
        }
        show()
    }

    /// Tells that a server says what no server of ntfy says, also while it is tried again.
    ///
    /// - Parameter reason: `nil` if it does not any more.
    func setRude(_ name: String, _ direction: Direction, _ reason: String?) {
        status.setProblem(
            direction == .inbound ? "\(name) rude" : "\(name) rude to what is sent",
            reason.map {
                BridgeStatus.Problem(
                    "\(name): \($0)",
                    "It is tried again by itself. If a login page of the network is in between, log in; else correct 'url' in "
                        + "ntfy.toml.")
            })
    }

    /// How much waits to be sent there.
    func setBacklog(_ name: String, _ count: Int) {
        change(name, .outbound) { $0.backlog = count }
        status.setBacklog(UInt64(entries.withLock { $0.reduce(0) { $0 + $1.backlog } }))
    }

    private func change(_ name: String, _ direction: Direction, _ body: (inout Entry) -> Void) {
        entries.withLock { entries in
            guard let index = entries.firstIndex(where: { $0.name == name && $0.direction == direction }) else {
                return
            }
            body(&entries[index])
        }
    }

    private func show() {
        let (state, detail) = entries.withLock { entries -> (BridgeStatus.State, String) in
            // What is wrong comes first.
            let order: [BridgeStatus.State] = [.failed, .waiting, .connecting, .connected]
            let sorted = order.flatMap { state in entries.filter { $0.state == state } }
            var told: [String] = []
            for entry in sorted where !told.contains(where: { $0.hasPrefix(entry.name) }) {
                told.append(entry.detail.isEmpty ? entry.name : "\(entry.name): \(entry.detail)")
            }
            return (sorted.first?.state ?? .connected, told.joined(separator: "; "))
        }
        status.set(state, detail)
    }
}
