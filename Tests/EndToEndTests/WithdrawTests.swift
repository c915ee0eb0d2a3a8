import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What a publisher takes back, and what it publishes in place of something else.
@Suite(.timeLimit(.minutes(2)))
struct WithdrawTests {
    private let open = PublishOptions(window: .seconds(60))

    @Test func anOpenEventGetsNoBannerAndAShownOneLosesIt() async throws {
        try await withRig { rig in
            let open = try await rig.client.publish("/post/1", title: "t", options: open)
            try await rig.client.withdraw(open)
            #expect(await rig.listener.resolution(of: open)?.outcome == "withdrawn")
            let shown = try await rig.client.publish("/post/2", title: "t")
            let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
            #expect(await rig.listener.resolution(of: shown)?.outcome == "shown")
            let result = try await rig.run("withdraw", "last")
            #expect(result.exit == .code(0))
            #expect(result.output.isEmpty)
            #expect(await rig.server.closes.next(within: .seconds(5))?.id == banner.id)
            #expect(await rig.listener.resolution(of: shown)?.outcome == "withdrawn")
            #expect(try await rig.client.unread() == 0)
            let explanation = try await rig.client.explain(shown)
            #expect(explanation.outcome == .withdrawn)
            #expect(explanation.reason.hasPrefix("It was shown. "))
            #expect(explanation.reason.hasSuffix(" withdrew it."))
            #expect(explanation.lateness != nil)
            #expect(explanation.claims.isEmpty)
            let why = try await rig.run("why", "\(shown)").output.joined(separator: "\n")
            #expect(why.contains(", withdrawn at "))
            let error = await #expect(throws: NotifyError.self) { try await rig.client.withdraw(1) }
            #expect(error?.shortName == "UnknownEvent")
        }
    }

    @Test func whatWasShownBeforeARestartIsTakenBackAndWhatWasMutedIsRead() async throws {
        try await withRig { rig in
            let shown = try await rig.client.publish("/post/1", title: "t")
            let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
            #expect(await rig.listener.resolution(of: shown)?.outcome == "shown")
            try await rig.client.mute("/post", for: .seconds(600))
            let muted = try await rig.client.publish("/post/2", title: "t")
            #expect(await rig.listener.resolution(of: muted)?.outcome == "muted")
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.client.unread() == 2)
            try await rig.client.withdraw(shown)
            #expect(await rig.server.closes.next(within: .seconds(5))?.id == banner.id)
            try await rig.client.withdraw(muted)
            #expect(try await rig.client.unread() == 0)
            #expect(try await rig.client.explain(shown).outcome == .withdrawn)
            let explanation = try await rig.client.explain(muted)
            #expect(explanation.outcome == .muted)
            #expect(explanation.isRead)
        }
    }

    @Test func thePublisherMayWithdrawAndOthersAsThePolicySays() async throws {
        let rule = "[[policy]]\ntopic = \"/post\"\ndeny = [\"publish\"]\nuser = \(getuid())\n"
        try await withRig { rig in
            let ids = [
                try await rig.client.publish("/post/1", options: open),
                try await rig.client.publish("/post/2", options: open),
                try await rig.client.publish("/note", options: open),
            ]
            try await rig.reconfigure(rule)
            let denied = try await rig.run("withdraw", "\(ids[0])")
            #expect(denied.exit == .code(77))
            try await rig.client.withdraw(ids[0])
            #expect(try await rig.run("withdraw", "\(ids[2])").exit == .code(0))
            // Another bus could have given the same name to another program.
            await rig.daemon.kill()
            try await rig.daemon.start()
            let error = await #expect(throws: NotifyError.self) { try await rig.client.withdraw(ids[1]) }
            #expect(error?.shortName == "AccessDenied")
            #expect(try await rig.client.explain(ids[1]).outcome == nil)
        }
    }

    @Test func aLaterEventTakesTheBannerOfTheEarlierOne() async throws {
        try await withRig { rig in
            let options = PublishOptions(collapse: "progress")
            let first = try await rig.client.publish("/build/1", title: "1 of 9", options: options)
            let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
            #expect(await rig.listener.resolution(of: first)?.outcome == "shown")
            let sent = try await rig.run("send", "/build/1", "2 of 9", "--collapse", "progress", "--wait")
            #expect(sent.output.last?.hasPrefix("shown") == true)
            let second = try #require(sent.output.first.flatMap { UInt64($0) }.map { EventID(rawValue: $0) })
            #expect(await rig.listener.resolution(of: first)?.outcome == "replaced")
            let update = try #require(await rig.server.banners.next(within: .seconds(5)))
            #expect(update.replaces == banner.id)
            #expect(update.title == "2 of 9")
            let explanation = try await rig.client.explain(first)
            #expect(explanation.outcome == .replaced)
            #expect(explanation.reason == "It was shown. Event \(second) with the same collapse took its place.")
            #expect(explanation.collapse == "progress")
            #expect(try await rig.client.unread() == 1)
        }
    }
}
