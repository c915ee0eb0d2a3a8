import Mosquitto
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Messages that are acknowledged when their receiver says so, and messages that are too long.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ConfirmationTests {
    private let broker: TestBroker! = Fixture.current()

    @Test(.broker, arguments: [ProtocolVersion.v5, .v311])
    func whatIsNotConfirmedComesAgain(version: ProtocolVersion) async throws {
        func receiver() -> TestConnection {
            TestConnection(broker.here) {
                $0.version = version
                $0.confirmsMessages = true
            }
        }
        let other = TestConnection(broker.here, client: "other", topics: ["u"])
        try await other.connected()
        let first = receiver()
        try await first.connected()
        for number in 1...3 { other.publish(UInt64(number), "\(number)", to: "t/x") }
        #expect(try await first.message().text == "1")
        first.connection.confirm()
        #expect(try await first.message().text == "2")
        // Nothing goes on before it is confirmed.
        first.connection.end()
        _ = try await first.end()
        // What the broker has kept comes before it answers the subscription.
        let second = receiver()
        for number in 2...3 {
            #expect(try await second.message().text == "\(number)")
            second.connection.confirm()
        }
        // What was confirmed does not come again.
        try await second.connected()
        second.publish(4, "4", to: "t/x")
        #expect(try await second.message().text == "4")
    }

    @Test(.broker) func whoNeverConfirmsIsDisconnected() async throws {
        let one = TestConnection(broker.here) {
            $0.confirmsMessages = true
            $0.confirmationTime = .milliseconds(300)
        }
        try await one.connected()
        one.publish(1, "1", to: "t/x")
        #expect(try await one.message().text == "1")
        let end = try await one.end()
        #expect(end.kind == .unavailable && end.description.contains("not taken"), "\(end)")
    }

    @Test(.broker) func whoOnlySendsSubscribesToNothing() async throws {
        let one = TestConnection(broker.here, topics: [])
        try await one.connected()
        one.publish(1, "1", to: "t/x")
        #expect(await one.acknowledgement(1))
    }

    @Test(arguments: ["max_packet_size 2000", "message_size_limit 2000"])
    func whatIsTooLongEndsNoConnection(line: String) async throws {
        var settings = TestBroker.Settings()
        settings.lines = [line]
        try await withBroker(settings) { broker in
            let one = TestConnection(broker.here)
            try await one.connected()
            one.publish(1, String(repeating: "x", count: 3000), to: "t/x")
            one.publish(2, "short", to: "t/x")
            let refused = await one.events.next(within: .seconds(10)) {
                if case .refusedAsTooLong(1) = $0 { true } else { false }
            }
            #expect(refused != nil)
            #expect(try await one.message().text == "short")
            #expect(await one.acknowledgement(2))
        }
    }
}
