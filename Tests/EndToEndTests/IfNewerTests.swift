import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Values that come by a bridge, asked of a real daemon.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct IfNewerTests {
    private func options(
        _ name: String, published: Int64, removal: Bool = false
    ) -> PublishOptions {
        PublishOptions(
            source: "elsewhere", eventID: name, retain: removal ? nil : true, remove: removal ? true : nil,
            published: published, via: "mqtt", ifNewer: true)
    }

    private func values(_ client: NotifyClient) async throws -> [EventID] {
        try await client.snapshot("/value").values.map(\.event.id)
    }

    @Test func theNewestValueStaysWhateverComesLaterAndOverARestart() async throws {
        try await withRig { rig in
            let now: Int64 = 1_700_000_000_000_000
            let new = try await rig.client.publish("/value", options: options("b", published: now))
            let old = try await rig.client.publish("/value", title: "old", options: options("z", published: now - 1))
            let tie = try await rig.client.publish("/value", options: options("a", published: now))
            #expect(try await values(rig.client) == [new])
            let explanation = try await rig.client.explain(old)
            #expect(explanation.outcome == .silent && explanation.reason.contains("newer value"))

            // The same after a restart, and for a removal that comes too late.
            await rig.daemon.kill()
            try await rig.daemon.start()
            let later = try await rig.client.publish("/value", options: options("y", published: now - 2))
            let late = try await rig.client.publish("/value", options: options("r", published: now - 3, removal: true))
            #expect(try await values(rig.client) == [new])
            let greater = try await rig.client.publish("/value", options: options("c", published: now))
            #expect(try await values(rig.client) == [greater])

            let changes = try await rig.client.journalChanges().changes
            let retained = changes.filter { $0.kind == "event" && $0.details["retained"]?.boolean == true }
            #expect(retained.map(\.id) == [new, greater])
            for id in [old, tie, later] {
                let event = try #require(changes.first { $0.kind == "event" && $0.id == id })
                #expect(event.details["silent"]?.string == "publisher")
                #expect(event.details["options"]?.entries?["banner"]?.boolean == false)
                #expect(event.details["via"]?.string == "mqtt")
            }
            let removal = try #require(changes.first { $0.kind == "removed" })
            #expect(removal.id == late && removal.details["cause"]?.string == "publisher")
            #expect(removal.details["published"]?.integer() == now - 3)
            #expect(removal.details["source"]?.string == "elsewhere" && removal.details["event-id"]?.string == "r")
            #expect(removal.details["via"]?.string == "mqtt")
        }
    }
}
