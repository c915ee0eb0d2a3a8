import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A daemon goes on where the one before it stopped.
@Suite(.timeLimit(.minutes(2)))
struct RecoveryTests {
    private let rig: FaultRig! = Fixture.current()
    private let slow: [String: Value] = ["window": .uint32(60_000)]

    @Test(.faultRig) func whatWasDecidedStaysDecided() async throws {
        let shown = try await rig.send("/note/1", "shown")
        let silent = try await rig.send("/run/r1/mate/Mina", "silent")
        let claimed = try await rig.publish("/note/2", "claimed", slow)
        #expect(try await rig.claim(claimed) == "suppressed")
        _ = try await rig.signal("Resolved", about: shown)
        let before = try await rig.history()
        #expect(before.map(\.outcome) == ["shown", "silent", "claimed"])
        try await rig.daemon.restart()
        #expect(try await rig.history() == before)
        try await rig.untilSettled()
        // One is published and shown, and by then nothing else was.
        let next = try await rig.send("/note/3", "next")
        #expect(next > claimed && silent > shown)
        _ = try await rig.signal("Resolved", about: next)
        #expect(rig.server.banners.all.map(\.title) == ["shown", "next"])
        #expect(try await rig.statistic("published") == 1)
    }

    @Test(.faultRig) func aScreenThatComesBackClaimsBeforeTheBanner() async throws {
        let id = try await rig.publish("/note/1", "news", slow)
        let other = try await rig.publish("/other/1", "other", ["window": .uint32(100)])
        try await rig.daemon.restart()
        let window = try #require(try await rig.replay(of: other))
        #expect(window > .milliseconds(1900) && window <= .seconds(2))
        let longer = try await rig.publish("/note/1", "longer", slow)
        try await rig.call("OpenScreen", ["/note/1", .variants([:])])
        for id in [id, longer] {
            #expect(try await rig.signal("Resolved", about: id).arguments[2] == "claimed")
        }
        #expect(try await rig.signal("Resolved", about: other).arguments[2] == "shown")
        #expect(rig.server.banners.all.map(\.title) == ["other"])
    }

    @Test(.faultRig) func whatRanOutWhileTheDaemonWasAwayIsExpired() async throws {
        let id = try await rig.publish("/note/1", "old", slow.merging(["ttl": .uint32(1)]) { $1 })
        let begin = ContinuousClock.now
        await rig.daemon.kill()
        // The time to live itself has to pass.
        try await Task.sleep(until: begin + .milliseconds(1_200))
        try await rig.daemon.start()
        #expect(try await rig.signal("Resolved", about: id).arguments[2] == "expired")
        #expect(try await rig.outcome(of: id) == "expired")
        #expect(rig.server.banners.all.isEmpty)
    }

    @Test(.faultRig) func claimsOfEventsOfAnEarlierRun() async throws {
        let shown = try await rig.send("/note/1", "shown")
        let number: UInt32? = try await rig.signal("Resolved", about: shown)
            .arguments[3].entries?["banner"]?.integer()
        let claimed = try await rig.publish("/note/2", "claimed", slow)
        _ = try await rig.claim(claimed)
        try await rig.daemon.restart()
        try await rig.until("the server is known") { try await rig.statistic("notification-server") == 1 }
        #expect(try await rig.claim(shown) == "retracted")
        #expect(await rig.server.closes.next(within: FaultRig.patience)?.id == number)
        #expect(try await rig.outcome(of: shown) == "retracted")
        #expect(try await rig.claim(claimed) == "recorded")
        for id in [0, 1, claimed + 1_000_000_000] {
            #expect(await refusal { try await rig.claim(id) }?.shortName == "UnknownEvent")
        }
    }

    @Test(.faultRig) func aBannerOfAnotherServerIsNotTouched() async throws {
        let shown = try await rig.send("/note/1", "shown")
        _ = try await rig.signal("Resolved", about: shown)
        await rig.daemon.kill()
        try await rig.server.releaseName()
        let next = try await NotificationServer.start(on: rig.bus)
        defer { next.stop() }
        try await rig.daemon.start()
        try await rig.until("the server is known") { try await rig.statistic("notification-server") == 1 }
        #expect(try await rig.claim(shown) == "recorded")
        #expect(try await rig.outcome(of: shown) == "retracted")
        #expect(next.closes.all.isEmpty && rig.server.closes.all.isEmpty)
    }
}
