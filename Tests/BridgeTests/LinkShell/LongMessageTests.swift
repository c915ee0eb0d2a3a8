import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Events that are longer than the broker takes.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct LongMessageTests {
    private static let silent = PublishOptions(banner: false)
    /// In JSON each of them has two bytes.
    private static let long = String(repeating: "\"", count: 8000)

    /// Two ways in which mosquitto refuses: it says so of packets before, and of payloads when one comes.
    @Test(arguments: ["max_packet_size 14000", "message_size_limit 14000"], [true, false])
    func anEventThatIsTooLongIsPassedAndTold(_ line: String, isSealed: Bool) async throws {
        var settings = TestBroker.Settings()
        settings.lines = [line]
        try await withLink(broker: settings, isSealed: isSealed) { rig in
            let since = try await rig.one.bridge.property("Since")
            for (title, body, isRetained) in [
                ("one", "", false), ("long", Self.long, false), ("value", Self.long, true), ("two", "", false),
            ] {
                var options = Self.silent
                options.retain = isRetained
                try await rig.one.client.publish("/post/27", title: title, body: body, options: options)
            }
            try await rig.two.hears("two")
            try await rig.one.until("Backlog", is: 0)
            try await rig.one.until("DeadLetters", is: 2)
            try await rig.two.until("nothing is missing") {
                let peers = try await rig.two.bridge.property("Peers")?.elements ?? []
                return peers.allSatisfy { $0.entries?["behind"]?.integer() == 0 }
            }
            #expect(try await rig.two.titles() == ["one", "two"])
            #expect(try await rig.one.bridge.property("Since") == since, "it has ended: \(rig.one.bridge.log)")
            #expect(rig.one.bridge.log.contains("cannot be said"))
            #expect(!rig.one.bridge.log.contains("long"), "the log has the title of an event")
        }
    }

    @Test func aBrokerThatTakesTooLittleIsNamed() async throws {
        var settings = TestBroker.Settings()
        settings.lines = ["max_packet_size 3000"]
        try await withLink(1, broker: settings, isStarted: false) { rig in
            try rig.one.bridge.launch()
            try await rig.one.until(state: "failed")
            #expect(try await rig.one.bridge.property("Detail")?.string?.contains("the link needs 8 KiB") == true)
        }
    }
}
