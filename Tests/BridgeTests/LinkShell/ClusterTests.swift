import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A link over a cluster of three nats-server with JetStream, which speak MQTT 3.1.1, and of which one is killed.
@Suite(
    .serialized, .timeLimit(.minutes(6)),
    .enabled(if: NATSCluster.program != nil, Comment(rawValue: NATSCluster.absence)))
struct ClusterTests {
    @Test func aNodeThatIsKilledUnderLoadLosesNothing() async throws {
        let cluster = try NATSCluster()
        try await cluster.start()
        // Each device has a node of its own as long as that one is there, as a balancer or several addresses of one
        // name do it.
        let proxies = try (1...2).map { first in
            try DelayingProxy(to: (0..<3).map { cluster.ports[(first + $0) % 3] })
        }
        try await finally {
            for proxy in proxies { proxy.close() }
            await cluster.stop()
        } after: {
            try await withDevices(at: proxies.map { "mqtt://localhost:\($0.port)" }) { devices in
                #expect(try await devices[0].bridge.property("Detail")?.string?.contains("MQTT 3.1.1") == true)
                // The node of the second device.
                let mistakes = try await devices.publishAndCompare(rounds: 150) { round in
                    if round == 50 { await cluster.kill(2) }
                }
                #expect(mistakes.isEmpty)
                // It comes back, and does its part again.
                try cluster.start(2)
                try await devices[0].client.publish("/log/a", title: "after", options: PublishOptions(banner: false))
                try await devices[1].hears("after")
            }
        }
    }
}
