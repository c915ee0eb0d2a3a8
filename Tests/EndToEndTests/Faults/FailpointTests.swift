import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A build for development has failpoints, and a release has none.
@Suite(.timeLimit(.minutes(2)))
struct FailpointPresenceTests {
    private let rig: FaultRig! = Fixture.current()

    #if FAILPOINTS
        private static let hasFailpoints = true
    #else
        private static let hasFailpoints = false
    #endif

    @Test(.faultRig(isStarted: false)) func onlyABuildForDevelopmentObeysTheEnvironment() async throws {
        try await rig.daemon.start(with: ["NOTIFYD_FAILPOINT": "before-commit"])
        let id = try? await rig.send("/note/1")
        #expect((id == nil) == Self.hasFailpoints)
    }

    @Test func theProgramHoldsTheirNameOnlyInABuildForDevelopment() throws {
        let program = try Data(contentsOf: URL(filePath: BuiltPrograms.notifyd))
        #expect((program.range(of: Data("NOTIFYD_FAILPOINT".utf8)) != nil) == Self.hasFailpoints)
    }
}

#if FAILPOINTS
    /// The daemon dies at each step of the protocol, and is started again.
    @Suite(.timeLimit(.minutes(2)))
    struct FailpointTests {
        private let rig: FaultRig! = Fixture.current()

        /// Publishes to a daemon that dies at `point`, starts it again and publishes the same again.
        ///
        /// - Returns: the id that was returned before the end, if one was, and the one of the repeat.
        private func die(at point: String, _ rig: FaultRig) async throws -> (before: UInt64?, after: UInt64) {
            try await rig.daemon.start(with: ["NOTIFYD_FAILPOINT": point])
            let named: [String: Value] = ["source": "test", "event-id": "1"]
            let before = try? await rig.publish("/note/1", "once", named)
            #expect(await rig.daemon.waitForExit() == .signal(9))
            try await rig.daemon.start()
            return (before, try await rig.publish("/note/1", "once", named))
        }

        /// The event is there once and is shown in the end.
        private func expectShown(_ id: UInt64, banners: ClosedRange<Int>, _ rig: FaultRig) async throws {
            try await rig.until("it is shown") { try await rig.outcome(of: id) == "shown" }
            #expect(try await rig.history().map(\.id) == [id])
            #expect(banners.contains(rig.banners("once")), "\(rig.banners("once")) banners")
        }

        @Test(.faultRig(isStarted: false)) func whoDiesBeforeTheCommitHasPromisedNothing() async throws {
            let ids = try await die(at: "before-commit", rig)
            #expect(ids.before == nil)
            #expect(rig.signals.all.filter { $0.member == "Event" }.count <= 1)
            try await expectShown(ids.after, banners: 1...1, rig)
        }

        @Test(.faultRig(isStarted: false)) func whoDiesAfterTheCommitAnnouncesTheEventAgainAndKnowsTheRepeat()
            async throws
        {
            let ids = try await die(at: "after-commit", rig)
            #expect(ids.before == nil)
            let window = try #require(try await rig.replay(of: ids.after))
            #expect(window > .milliseconds(1900) && window <= .seconds(2))
            #expect(rig.banners("once") == 0)
            try await expectShown(ids.after, banners: 1...1, rig)
        }

        @Test(.faultRig(isStarted: false), arguments: ["after-reply", "after-signal"])
        func whatWasAcknowledgedIsAnnouncedAgain(_ point: String) async throws {
            let ids = try await die(at: point, rig)
            // The reply may have been on its way or not.
            if let before = ids.before { #expect(before == ids.after) }
            let window = try #require(try await rig.replay(of: ids.after))
            #expect(window > .milliseconds(1900) && window <= .seconds(2))
            try await expectShown(ids.after, banners: 1...1, rig)
        }

        @Test(.faultRig(isStarted: false)) func whoDiesBeforeNotifyShowsTheBannerLater() async throws {
            let ids = try await die(at: "before-notify", rig)
            #expect(ids.before == ids.after)
            #expect(try await rig.replay(of: ids.after) != nil)
            try await expectShown(ids.after, banners: 1...1, rig)
        }

        @Test(.faultRig(isStarted: false), arguments: ["after-notify", "before-outcome"])
        func aBannerWhoseOutcomeWasNotWrittenComesAtMostTwice(_ point: String) async throws {
            let ids = try await die(at: point, rig)
            #expect(ids.before == ids.after)
            #expect(try await rig.replay(of: ids.after) != nil)
            try await expectShown(ids.after, banners: 1...2, rig)
            #expect(rig.signals.all.filter { $0.member == "Resolved" }.count == 1)
        }

        @Test func manyPublishersLoseNothingAtTheFifthCommit() async throws {
            for point in ["before-commit:5", "after-commit:5", "after-reply:5", "after-signal:5"] {
                try await withFaultRig(isStarted: false) { rig in
                    try await rig.daemon.start(with: ["NOTIFYD_FAILPOINT": point])
                    let ids = await withTaskGroup(of: UInt64?.self) { group in
                        for number in 1...40 {
                            group.addTask { try? await rig.send("/note/\(number)", "\(number)") }
                        }
                        return await group.reduce(into: Set<UInt64>()) { ids, id in id.map { _ = ids.insert($0) } }
                    }
                    // A whole turn at once may have been enough for all of them.
                    while rig.daemon.exit == nil { _ = try? await rig.send("/note/0", "0") }
                    try await rig.daemon.start()
                    let kept = Set(try await rig.history().map(\.id))
                    #expect(ids.subtracting(kept) == [], "\(point)")
                    try await rig.untilSettled()
                }
            }
        }
    }
#endif
