import Dispatch
import NotifyClient

/// Somebody who makes one call at a time and is in no hurry: how long he waits for his answers.
struct Bystander: Sendable {
    /// Between an answer and the next call.
    private static let pause: Duration = .milliseconds(2)

    private let connection: Connection
    private let call: Message

    /// - Parameter call: what is called, again and again.
    init(on address: String, calling call: Message) async throws {
        connection = try await Connection.open(address)
        self.call = call
    }

    /// How long each answer took, in nanoseconds.
    func waits(for time: Duration) async throws -> [UInt64] {
        var waits: [UInt64] = []
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            let start = DispatchTime.now().uptimeNanoseconds
            _ = try await connection.call(call)
            waits.append(DispatchTime.now().uptimeNanoseconds - start)
            try await Task.sleep(for: Self.pause)
        }
        return waits
    }

    func leave() { connection.close() }
}

extension Message {
    /// A question that the bus answers by itself.
    static let question = Message.call("GetId", of: Bus.interface, at: Bus.path, on: Bus.name)

    /// A call of `Send`.
    static func push(to topic: String) -> Message {
        .call(
            "Send", of: Router.interface, at: Router.path, on: Router.name, autoStart: false,
            [.string(topic), "A title", "Forty bytes, which is what a push says."])
    }
}
