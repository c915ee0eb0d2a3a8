import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What `Explain` and `notifyctl` say of an event is what happened to it.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ExplanationTests {
    private let rig: Rig! = Fixture.current()
    private static let long = PublishOptions(window: .seconds(60))

    @Test(.rig) func afterARestartTimesCountFromPublishing() async throws {
        let id = try await rig.client.publish("/post/1", options: Self.long)
        let published = ContinuousClock.now
        try await rig.daemon.restart()
        try await rig.until("it is announced again") { try await rig.client.explain(id).isReplayed }
        let atLeast = ContinuousClock.now - published
        #expect(try await rig.client.claim(id) == .suppressed)
        let decision = try await rig.client.explain(id)
        #expect(try #require(decision.claims.first?.after) >= atLeast)
        #expect(try #require(decision.opened) > #require(decision.accepted))
        #expect(!decision.isOfEarlierBoot)
        let drawing = try await rig.run("why", "\(id)").output.joined(separator: "\n")
        #expect(drawing.contains("opened again at "))
        #expect(drawing.contains("after a restart of notifyd"))
    }

    @Test(.rig) func whoeverWaitsForAnOutcomeHearsWhatIsAwaited() async throws {
        rig.server.stop()
        try await rig.until("the server is gone") {
            try await rig.client.statistics()["notification-server"] == 0
        }
        let waiting = try await rig.run("send", "/post/1", "news", "--wait", "--timeout", "1s")
        #expect(waiting.exit == .code(1))
        #expect(waiting.errors.joined().contains("its banner waits: there is no notification server"))
        let id = try #require(waiting.output.first)
        #expect(try await rig.run("claim", id).exit == .code(0))
    }

    /// To say what became of the event starts no daemon.
    @Test(.rig) func whoeverWaitsHearsThatNotifydIsNotRunning() async throws {
        let waiting = try rig.start("send", "/post/1", "news", "--wait", "--timeout", "2s", "--window", "60s")
        try await rig.until("it is published") { try await rig.client.pending() == 1 }
        await rig.daemon.stop()
        let (starts, monitor) = try await rig.calls(of: "Explain")
        defer { monitor.close() }
        #expect(await waiting.waitForExit() == .code(1))
        let errors = try #require(await waiting.allLines(of: 2)).joined()
        #expect(errors.hasSuffix("within 2 s. notifyd is not running."), "\(errors)")
        #expect(starts.all.allSatisfy { !$0.autoStart })
        #expect(!starts.all.isEmpty)
    }
}
