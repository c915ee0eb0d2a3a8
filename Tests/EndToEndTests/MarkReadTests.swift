import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What somebody has seen is not unread any more, whatever had become of it.
@Suite(.timeLimit(.minutes(2)))
struct MarkReadTests {
    @Test func whatWasNeverShownKeepsItsOutcomeAndIsRead() async throws {
        try await withRig { rig in
            let muted = try await rig.mutedEvents(2)
            #expect(try await rig.client.unread() == 2)
            #expect(try await rig.client.markRead("/post", upTo: muted[0]) == 1)
            #expect(try await rig.client.unread() == 1)
            #expect(try await rig.run("history", "--unread", "--json=short").output.count == 1)
            #expect(try await rig.run("mark-read", "/post").output == ["1"])
            #expect(try await rig.client.unread() == 0)
            #expect(try await rig.client.markRead() == 0)
            #expect(try await rig.run("history", "--unread").exit == .code(1))
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.client.unread() == 0)
            for id in muted {
                let explanation = try await rig.client.explain(id)
                #expect(explanation.outcome == .muted)
                #expect(explanation.isRead)
                #expect(explanation.reason.hasPrefix("Its topic was muted: /post, until "))
            }
        }
    }

    @Test func whoMayNotClaimMayNotMark() async throws {
        let policy = """
            [[policy]]
            topic = "/post"
            deny = ["claim"]
            """
        try await withRig(configuration: policy) { rig in
            let id = try await rig.mutedEvents(1)[0]
            for topic in ["/post", "/post/1"] {
                let error = await #expect(throws: NotifyError.self) { try await rig.client.markRead(topic) }
                #expect(error?.name == "org.notifyd.Router1.Error.AccessDenied")
            }
            await #expect(throws: NotifyError.self) { try await rig.client.claim(id) }
            #expect(try await rig.client.unread() == 1)
        }
    }
}

extension Rig {
    /// Publishes events below /post, which is muted.
    @discardableResult
    fileprivate func mutedEvents(_ count: Int) async throws -> [EventID] {
        try await client.mute("/post", for: .seconds(600))
        var ids: [EventID] = []
        for number in 1...count {
            ids.append(
                try await client.publish("/post/\(number)", options: PublishOptions(window: .zero)))
        }
        for id in ids { #expect(await listener.resolution(of: id)?.outcome == "muted") }
        try await client.mute("/post", for: .zero)
        return ids
    }
}
