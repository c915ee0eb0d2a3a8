import Linking
import Mosquitto
import NotifyClient
import NotifyRehearsal

/// What the broker and libmosquitto cost alone: one plain publisher and one plain subscriber, with QoS 1.
struct Floor: Sendable {
    private let publisher: BrokerConnection
    /// The loop of the publisher.
    private let loop: WorkLoop
    private let subscriber: BrokerConnection
    private let latencies = Locked<[UInt64]>([])
    private let size: Int

    /// - Parameter size: of a message, in bytes.
    init(_ fixture: Fixture, size: Int) async throws {
        self.size = max(size, 32)
        let ready = Mailbox<Void>()
        let ports = fixture.floorProxies.isEmpty ? [fixture.broker.port] : fixture.floorProxies.map(\.port)
        func options(_ name: String, port: UInt16, _ topics: [String]) -> ConnectionOptions {
            ConnectionOptions(
                broker: Broker(.init(.host("localhost", port: port))), client: name,
                will: Will(topic: "floor/gone/\(name)", payload: [1]), subscriptions: topics)
        }
        let latencies = latencies
        loop = try WorkLoop()
        publisher = BrokerConnection(
            options("publisher", port: ports[0], ["floor/unused"]), on: loop
        ) { event in
            if case .connected = event { ready.put(()) }
        }
        subscriber = BrokerConnection(
            options("subscriber", port: ports[ports.count - 1], ["floor/x"]), on: try WorkLoop()
        ) { event in
            switch event {
            case .connected: ready.put(())
            case .received(let message):
                let heard = moment()
                let digits = (message.payload ?? []).prefix { $0 != 32 }
                if let sent = UInt64(String(decoding: digits, as: UTF8.self)) {
                    latencies.withLock { $0.append(heard - sent) }
                }
            case .acknowledged, .refusedAsTooLong, .ended: break
            }
        }
        for _ in 0..<2 where await ready.next(within: .seconds(20)) == nil {
            throw RehearsalError("The plain connections to the broker were not made.")
        }
    }

    /// From publishing to arrival, in nanoseconds.
    func measure(rate: Double, for time: Duration) async throws -> [UInt64] {
        latencies.withLock { $0 = [] }
        let sent = Locked(0)
        await pace(rate, for: time, on: loop) { [publisher, size] number in
            sent.withLock { $0 = number }
            var text = Array("\(moment()) ".utf8)
            text += [UInt8](repeating: UInt8(ascii: "x"), count: max(0, size - text.count))
            publisher.publish(UInt64(number), topic: "floor/x", payload: text, isRetained: false)
        }
        _ = try await waits(within: .seconds(10)) { latencies.withLock(\.count) >= sent.withLock { $0 } }
        return latencies.withLock { $0 }
    }

    func end() {
        publisher.end()
        subscriber.end()
    }
}
