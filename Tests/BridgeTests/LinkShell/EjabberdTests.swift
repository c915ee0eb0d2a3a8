import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A link over ejabberd, a second broker with MQTT 5.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: EjabberdBroker.isThere, Comment(rawValue: EjabberdBroker.absence)))
struct EjabberdTests {
    private func withEjabberd(_ body: (EjabberdBroker, [LinkedDevice]) async throws -> Void) async throws {
        let broker = try EjabberdBroker()
        try await finally {
            await broker.remove()
        } after: {
            try await broker.start()
            let server = "mqtt://localhost:\(broker.port)"
            try await withDevices(at: [server, server], link: "password = { file = \"password\" }") { devices in
                try await body(broker, devices)
            }
        }
    }

    @Test func aClaimOnOneTakesTheBannerOffTheOther() async throws {
        try await withEjabberd { _, devices in
            #expect(try await devices[0].bridge.property("Detail")?.string?.contains("MQTT 5") == true)
            let id = try await devices[0].client.publish(
                "/post/27", title: "one", options: PublishOptions(window: .zero))
            #expect(await devices[1].server.banners.next(within: .seconds(30)) { $0.title == "one" } != nil)
            _ = try await devices[0].client.claim(id)
            #expect(await devices[1].server.closes.next(within: .seconds(30)) != nil)
        }
    }

    @Test func aBrokerThatIsKilledLosesNothing() async throws {
        try await withEjabberd { broker, devices in
            let mistakes = try await devices.publishAndCompare(rounds: 60) { round in
                if round == 20 { await broker.kill() }
                if round == 40 { try await broker.start() }
            }
            #expect(mistakes.isEmpty)
        }
    }
}
