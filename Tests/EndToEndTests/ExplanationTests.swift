import ChildProcesses
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What `Explain` and `notifyctl` say of an event is what happened to it.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ExplanationTests {
    private static let long = PublishOptions(window: .seconds(60))

    private func crash(_ rig: Rig) async throws {
        await rig.daemon.kill()
        try await rig.daemon.start()
    }

    @Test func afterARestartTimesCountFromPublishing() async throws {
        try await withRig { rig in
            let id = try await rig.client.publish("/post/1", options: Self.long)
            let published = ContinuousClock.now
            try await crash(rig)
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
    }

    @Test func aLateClaimHasTheVerdictThatItWasAnswered() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server()
            var ids: [EventID] = []
            for _ in 1...2 {
                ids.append(try await stage.client.send("/note/1", title: "news"))
                _ = try await stage.outcome(of: ids.last!)
            }
            #expect(try await stage.client.claim(ids[0]) == .recorded)
            let decision = try await stage.client.explain(ids[0])
            #expect(decision.outcome == .retracted)
            #expect(decision.claims.map(\.verdict) == [.recorded])
            #expect(server.closes.all.isEmpty)
            #expect(try await stage.client.claim(ids[1]) == .retracted)
            #expect(try await stage.client.explain(ids[1]).claims.map(\.verdict) == [.retracted])
            #expect(try await stage.close(on: server) == 1)
        }
    }

    @Test func aSecondClaimIsKept() async throws {
        try await withRig { rig in
            let id = try await rig.client.publish("/post/1", options: Self.long)
            #expect(try await rig.client.claim(id) == .suppressed)
            let other = try await NotifyClient(address: rig.bus.address)
            #expect(try await other.claim(id) == .recorded)
            #expect(try await other.claimProvisionally(id, within: .seconds(1)) == .recorded)
            await other.close()
            let claims = try await rig.client.explain(id).claims
            #expect(claims.map(\.form) == ["Claim", "Claim", "ClaimProvisionally"])
            #expect(claims.map(\.verdict) == [.suppressed, .recorded, .recorded])
            let times = try claims.map { try #require($0.after) }
            #expect(times == times.sorted())
        }
    }

    @Test func aMissingServerIsNotALateTimer() async throws {
        try await withBannerStage("start_server = false\n") { stage in
            let id = try await stage.client.send("/note/1", title: "news")
            try await stage.until("it waits for a server") {
                try await stage.client.explain(id).reason.hasSuffix("waits: there is no notification server.")
            }
            let server = try await stage.server()
            #expect(try await stage.outcome(of: id).kind == "shown")
            let decision = try await stage.client.explain(id)
            #expect(decision.delay == .absent)
            #expect(server.showing.count == 1)
            #expect(decision.reason.contains("there was no notification server"))
        }
    }

    @Test func whoeverWaitsForAnOutcomeHearsWhatIsAwaited() async throws {
        try await withRig { rig in
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
    }

    /// To say what became of the event starts no daemon.
    @Test func whoeverWaitsHearsThatNotifydIsNotRunning() async throws {
        try await withRig { rig in
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
}
