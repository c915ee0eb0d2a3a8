package import NotifyClient
package import NotifyRehearsal

/// A subscriber to all signals of the daemon, which records when each one arrived.
package final class Listener: Sendable {
    package enum Word: Sendable {
        case event(id: UInt64, window: Duration?)
        case resolved(id: UInt64, outcome: String, banner: UInt32?, count: Int?)
        case action(id: UInt64)
    }

    package struct Heard: Sendable {
        package let word: Word
        package let arrival: ContinuousClock.Instant
    }

    package let heard: Mailbox<Heard>
    private let connection: Connection

    package init(on bus: PrivateBus) async throws {
        let heard = Mailbox<Heard>()
        self.heard = heard
        connection = try await Connection.open(
            bus.address,
            onSignal: { message in
                let arrival = ContinuousClock.now
                guard let word = Word(message) else { return }
                heard.put(Heard(word: word, arrival: arrival))
            })
        try await connection.addMatch(MatchRule(interface: Router.interface))
    }

    package func close() { connection.close() }

    /// The number of undecided events. All earlier signals have been received when this returns.
    package func pending() async throws -> Int {
        try await connection.call(.toProperties("Get", ["Pending"])).arguments.first?.integer() ?? -1
    }
}

extension Listener.Word {
    init?(_ message: Message) {
        let arguments = message.arguments
        guard message.interface == Router.interface, arguments.count >= 3, case .uint64(let id) = arguments[1] else {
            return nil
        }
        switch message.member {
        case "Event":
            let window = arguments.last?.entries?["window"]?.integer(as: UInt32.self)
            self = .event(id: id, window: window.map { .milliseconds($0) })
        case "Resolved":
            let details = arguments.last?.entries ?? [:]
            self = .resolved(
                id: id, outcome: arguments[2].string ?? "", banner: details["banner"]?.integer(),
                count: details["count"]?.integer())
        case "ActionInvoked":
            self = .action(id: id)
        default:
            return nil
        }
    }
}

extension Listener {
    private static let patience: Duration = .seconds(5)

    package func event(_ id: UInt64) async -> Heard? {
        await heard.next(within: Self.patience) { if case .event(id, _) = $0.word { true } else { false } }
    }

    /// Waits for an event's next outcome; `nil` when it does not come.
    package func resolution(of id: EventID) async -> (outcome: String, banner: UInt32?, count: Int?)? {
        let word = await heard.next(within: Self.patience) {
            if case .resolved(id.rawValue, _, _, _) = $0.word { true } else { false }
        }
        guard case .resolved(_, let outcome, let banner, let count)? = word?.word else { return nil }
        return (outcome, banner, count)
    }
}
