import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// `Snooze` with the real programs. The shortest snooze is a minute: that the banner comes back is tested in virtual
/// time.
@Suite(.timeLimit(.minutes(1)))
struct SnoozeTests {
    @Test func aSnoozedBannerIsClosedAndItsTimeOutlivesAKill() async throws {
        try await withRig { rig in
            let id = try await rig.client.publish("/post/1", title: "t")
            let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
            #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
            #expect(try await rig.run("snooze", "/post", "1m").output == ["\(id)"])
            #expect(await rig.server.closes.next(within: .seconds(5))?.id == banner.id)
            let explanation = try await rig.client.explain(id)
            #expect(explanation.outcome == .shown)
            #expect(explanation.snoozed != nil)
            #expect(explanation.reason.contains("It is snoozed: its banner comes back at "))
            #expect(explanation.claims.map(\.form) == ["Snooze"])
            #expect(try await rig.client.inbox().map(\.id) == [id])
            await rig.daemon.kill()
            try await rig.daemon.start()
            let again = try await rig.client.explain(id).snoozed
            #expect(abs(try #require(again) - explanation.snoozed!) < 1_000_000)
            #expect(try await rig.client.inbox().map(\.id) == [id])
        }
    }

    @Test func aSnoozedEventIsClaimedAndWhatIsReadCannotBeSnoozed() async throws {
        try await withRig { rig in
            let id = try await rig.client.publish("/post/1", title: "t")
            #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
            #expect(try await rig.run("snooze", "\(id)", "10m").output == ["\(id)"])
            #expect(try await rig.client.claim(id) == .suppressed)
            #expect(try await rig.client.explain(id).outcome == .claimed)
            #expect(try await rig.client.explain(id).snoozed == nil)
            #expect(try await rig.run("snooze", "\(id)", "10m").exit == .code(65))
            #expect(try await rig.run("snooze", "/post", "10m").exit == .code(1))
            #expect(try await rig.run("snooze", "\(id)", "59s").exit == .code(64))
        }
    }
}
