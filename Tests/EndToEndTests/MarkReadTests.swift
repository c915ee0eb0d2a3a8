import ChildProcesses
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

    @Test func whatIsShownIsTakenDownAndWhatIsUndecidedIsClaimed() async throws {
        try await withRig { rig in
            let shown = try await rig.client.publish("/post/1", title: "t")
            let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
            #expect(await rig.listener.resolution(of: shown)?.outcome == "shown")
            let window = PublishOptions(window: .seconds(60))
            let open = try await rig.client.publish("/post/2", title: "t", options: window)
            let later = try await rig.client.publish("/post/2", title: "t", options: window)
            let elsewhere = try await rig.client.publish("/chat", title: "t", options: window)
            #expect(try await rig.client.markRead("/post", upTo: open) == 2)
            #expect(await rig.server.closes.next(within: .seconds(5))?.id == banner.id)
            #expect(try await rig.client.explain(shown).outcome == .retracted)
            let claimed = try await rig.client.explain(open)
            #expect(claimed.outcome == .claimed)
            #expect(claimed.claims.map(\.form) == ["MarkRead"])
            for id in [later, elsewhere] { #expect(try await rig.client.explain(id).outcome == nil) }
            #expect(try await rig.client.unread() == 2)
        }
    }

    @Test func whatWasShownByAnEarlierRunUnderAnotherServerIsRead() async throws {
        try await withRig { rig in
            let shown = try await rig.client.publish("/post/1", title: "t")
            #expect(await rig.listener.resolution(of: shown)?.outcome == "shown")
            let before = try await rig.client.explain(shown)
            await rig.daemon.stop()
            rig.server.stop()
            try await rig.daemon.start()
            #expect(try await rig.client.unread() == 1)
            #expect(try await rig.client.markRead("/post") == 1)
            #expect(try await rig.client.unread() == 0)
            let after = try await rig.client.explain(shown)
            #expect(after.outcome == .retracted)
            #expect(after.claims.map(\.form) == ["MarkRead"])
            // The clocks are not read at the same moment.
            #expect(abs((after.opened ?? 0) - (before.opened ?? 0)) < 10_000)
            #expect(abs((after.deadline ?? 0) - (before.deadline ?? 0)) < 10_000)
            #expect(after.window == before.window)
        }
    }

    /// More than is marked in a turn.
    @Test func manyEventsAreCountedOverRestarts() async throws {
        try await withRig { rig in
            try await rig.mutedEvents(300)
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.client.unread() == 300)
            #expect(try await rig.client.markRead() == 300)
            #expect(try await rig.client.unread() == 0)
        }
    }

    @Test func aClaimOfAnyKindMarksToo() async throws {
        try await withRig { rig in
            let id = try await rig.mutedEvents(1)[0]
            #expect(try await rig.client.claim(id) == .recorded)
            #expect(try await rig.client.unread() == 0)
            #expect(try await rig.client.explain(id).outcome == .muted)
            try await rig.mutedEvents(2)
            #expect(try await rig.client.claimTopic("/post") == 0)
            #expect(try await rig.client.unread() == 0)
            try await rig.mutedEvents(2)
            let asking = try await rig.client.openScreen("/post", mode: .ask)
            #expect(try await rig.client.unread() == 2)
            await asking.close()
            let screen = try await rig.client.openScreen("/post")
            #expect(try await rig.client.unread() == 0)
            await screen.close()
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
