import Linking
import Mosquitto
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport

/// A connection to a real broker, with what happens on it.
struct TestConnection {
    let connection: BrokerConnection
    let events = Mailbox<ConnectionEvent>()
    private let loop = try! WorkLoop()

    init(
        _ broker: Broker, client: String = "one", topics: [String] = ["t/#"], will: String = "gone",
        change: (inout ConnectionOptions) -> Void = { _ in }
    ) {
        var options = ConnectionOptions(
            broker: broker, client: client, will: Will(topic: "w/\(client)", payload: Array(will.utf8)),
            subscriptions: topics)
        change(&options)
        let events = events
        connection = BrokerConnection(options, on: loop) { events.put($0) }
    }

    /// Waits until it is connected; tells whether the broker had kept the session.
    @discardableResult
    func connected() async throws -> (version: ProtocolVersion, sessionPresent: Bool) {
        let event = await events.next(within: .seconds(10)) {
            switch $0 {
            case .connected, .ended: true
            case .received, .acknowledged, .refusedAsTooLong: false
            }
        }
        guard case .connected(let version, let sessionPresent, _) = event else {
            throw RehearsalError("It did not connect: \(event.map { "\($0)" } ?? "nothing happened").")
        }
        return (version, sessionPresent)
    }

    func end(within limit: Duration = .seconds(10)) async throws -> ConnectionEnd {
        let event = await events.next(within: limit) { if case .ended = $0 { true } else { false } }
        guard case .ended(let end) = event else { throw RehearsalError("The connection did not end.") }
        return end
    }

    /// The next message.
    func message(within limit: Duration = .seconds(10)) async throws -> BrokerMessage {
        let event = await events.next(within: limit) { if case .received = $0 { true } else { false } }
        guard case .received(let message) = event else { throw RehearsalError("No message came.") }
        return message
    }

    func acknowledgement(_ token: UInt64) async -> Bool {
        await events.next(within: .seconds(10)) {
            if case .acknowledged(let other) = $0 { other == token } else { false }
        } != nil
    }

    func publish(_ token: UInt64, _ text: String, to topic: String, isRetained: Bool = false) {
        connection.publish(token, topic: topic, payload: Array(text.utf8), isRetained: isRetained)
    }
}

extension BrokerMessage {
    var text: String { String(decoding: payload ?? [], as: UTF8.self) }
}

extension TestBroker {
    /// As a client without TLS sees it.
    var here: Broker { Broker(.init(.socket(path: socket))) }
}
