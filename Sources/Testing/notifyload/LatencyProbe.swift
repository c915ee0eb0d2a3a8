import Dispatch
import NotifyClient

/// Makes one call at a time and measures the latencies of the replies.
struct LatencyProbe: Sendable {
    /// The pause between a reply and the next call.
    private static let pause: Duration = .milliseconds(2)

    private let connection: Connection
    private let call: Message

    init(on address: String, calling call: Message) async throws {
        connection = try await Connection.open(address)
        self.call = call
    }

    /// The latency of each reply, in nanoseconds.
    func latencies(for time: Duration) async throws -> [UInt64] {
        var latencies: [UInt64] = []
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            let start = DispatchTime.now().uptimeNanoseconds
            _ = try await connection.call(call)
            latencies.append(DispatchTime.now().uptimeNanoseconds - start)
            try await Task.sleep(for: Self.pause)
        }
        return latencies
    }

    func leave() { connection.close() }
}

extension Message {
    /// A call that the bus itself answers.
    static let question = Message.toBus("GetId")

    static func push(to topic: String) -> Message {
        .toRouter(
            "Send", autoStart: false, [.string(topic), "A title", "Forty bytes, which is what a push says."])
    }
}
