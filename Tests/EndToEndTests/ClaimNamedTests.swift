import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Claims by global name, on behalf of somebody elsewhere.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ClaimNamedTests {
    private let rig: Rig! = Fixture.current()
    private static let phone = NamedClaimOptions(device: "phone", via: "mqtt")

    private static func named(_ id: String, window: Duration = .seconds(60)) -> PublishOptions {
        PublishOptions(source: "chat", eventID: id, window: window, via: "ntfy")
    }

    private func options(_ kind: NamedClaimOptions.Kind) -> NamedClaimOptions {
        NamedClaimOptions(kind, device: "phone", via: "mqtt")
    }

    // MARK: Events that are there

    @Test(.rig) func anEventIsClaimedByEitherName() async throws {
        let device = try await rig.client.device()
        let first = try await rig.client.publish("/post/1", options: Self.named("1"))
        let second = try await rig.client.publish("/post/2", options: PublishOptions(window: .seconds(60)))
        #expect(try await rig.client.claimNamed(source: "chat", eventID: "1", options: Self.phone) == .suppressed)
        let own = try await rig.client.claimNamed(
            source: "notifyd:" + device, eventID: "\(second)", options: Self.phone)
        #expect(own == .suppressed)
        #expect(try await rig.client.claimNamed(source: "chat", eventID: "1") == .recorded)
        for id in [first, second] {
            #expect(await rig.listener.resolution(of: id)?.outcome == "claimed")
            let explanation = try await rig.client.explain(id)
            #expect(explanation.device == "phone")
            #expect(explanation.claims.first?.form == "ClaimNamed")
            #expect(explanation.reason.hasPrefix("It was claimed on phone; "), "\(explanation.reason)")
        }
        let why = try await rig.run("why", "\(first)").output.joined(separator: " ")
        #expect(why.contains("claimed on phone"), "\(why)")
        #expect(rig.server.banners.all.isEmpty)
    }

    @Test(.rig) func whatWasClosedElsewhereIsDismissedOnlyIfItWasShown() async throws {
        let shown = try await rig.client.publish("/post/1", options: Self.named("1", window: .zero))
        let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
        #expect(await rig.listener.resolution(of: shown)?.outcome == "shown")
        let open = try await rig.client.publish("/post/2", options: Self.named("2"))
        let closing = try await rig.client.claimNamed(source: "chat", eventID: "1", options: options(.dismissed))
        #expect(closing == .retracted)
        #expect(await rig.server.closes.next(within: .seconds(5))?.id == banner.id)
        let early = try await rig.client.claimNamed(source: "chat", eventID: "2", options: options(.dismissed))
        #expect(early == .suppressed)
        let explanation = try await rig.client.explain(shown)
        #expect(explanation.outcome == .dismissed)
        #expect(explanation.reason.contains("closed its banner on phone"))
        #expect(explanation.claims.map(\.verdict) == [.retracted])
        #expect(try await rig.client.explain(open).outcome == .claimed)
    }

    /// As `MarkRead` of this one event: what had no banner keeps its outcome.
    @Test(.rig) func whatWasReadElsewhereCountsAsRead() async throws {
        let shown = try await rig.client.publish("/post/4", options: Self.named("4", window: .zero))
        let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
        #expect(await rig.listener.resolution(of: shown)?.outcome == "shown")
        let open = try await rig.client.publish("/post/1", options: Self.named("1"))
        let silent = try await rig.client.publish(
            "/post/2", options: PublishOptions(source: "chat", eventID: "2", banner: false))
        let expired = try await rig.client.publish(
            "/post/3", options: PublishOptions(source: "chat", eventID: "3", timeToLive: .zero))
        var verdicts: [Verdict] = []
        for name in ["1", "2", "3", "3", "4"] {
            verdicts.append(
                try await rig.client.claimNamed(source: "chat", eventID: name, options: options(.read)))
        }
        #expect(verdicts == [.suppressed, .recorded, .recorded, .recorded, .retracted])
        #expect(await rig.server.closes.next(within: .seconds(5))?.id == banner.id)
        for (id, outcome) in [
            (open, Outcome.Kind.claimed), (silent, .silent), (expired, .expired), (shown, .retracted),
        ] {
            #expect(try await rig.client.explain(id).outcome == outcome)
        }
        #expect(try await rig.client.unread() == 0)
        let reason = try await rig.client.explain(expired).reason
        #expect(reason.hasSuffix("It was marked as read on phone."))
        let marks = try await rig.client.journalChanges().changes.filter { $0.kind == "read" }
        #expect(marks.map(\.id) == [silent, expired])
        for mark in marks {
            #expect(mark.details["device"]?.string == "phone" && mark.details["via"]?.string == "mqtt")
        }
    }

    @Test(.rig) func aRowOfChangesHasTheLineOfTheClaimAndNotOfTheEvent() async throws {
        _ = try await rig.client.publish("/post/1", options: Self.named("1"))
        _ = try await rig.client.claimNamed(source: "chat", eventID: "1", options: Self.phone)
        let here = try await rig.client.publish("/post/2", options: Self.named("2"))
        _ = try await rig.client.claim(here)
        let changes = try await rig.client.journalChanges().changes.filter { $0.kind != "start" }
        #expect(changes.map(\.kind) == ["event", "outcome", "event", "outcome"])
        #expect(changes.map { $0.details["via"]?.string } == ["ntfy", "mqtt", "ntfy", nil])
        #expect(changes.map { $0.details["device"]?.string } == [nil, "phone", nil, nil])
        #expect(changes[1].details["form"]?.string == "ClaimNamed")
    }

    // MARK: Events that have not come

    @Test(.rig) func whatIsClaimedBeforeItComesGetsNoBannerAlsoAfterAKill() async throws {
        let verdict = try await rig.client.claimNamed(source: "chat", eventID: "1", options: Self.phone)
        #expect(verdict == .awaited)
        try await rig.daemon.restart()
        #expect(try await rig.client.statistics()["awaited-events"] == 1)
        let events = try await rig.client.events(at: "/post")
        let id = try await rig.client.publish("/post/1", options: Self.named("1", window: .zero))
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next()?.isClaimed == true)
        let explanation = try await rig.client.explain(id)
        #expect(explanation.outcome == .claimed)
        #expect(explanation.device == "phone")
        #expect(explanation.claims.map(\.form) == ["ClaimNamed"])
        #expect(try await rig.client.statistics()["awaited-events"] == 0)
        // It was claimed once; the next event is another one.
        let next = try await rig.client.publish("/post/1", options: PublishOptions(window: .zero))
        #expect(await rig.server.banners.next(within: .seconds(5)) != nil)
        #expect(await rig.listener.resolution(of: next)?.outcome == "shown")
        #expect(rig.server.banners.all.count == 1)
    }

    @Test func onlyWhatCanBeKeptIsAwaited() async throws {
        try await withFaultRig { rig in
            let named: [String: Value] = ["source": "chat", "event-id": "1", "window": .uint32(60_000)]
            _ = try await rig.publish("/open/1", "open", named)
            try FileManager.default.removeItem(atPath: rig.state)
            #expect(FileManager.default.createFile(atPath: rig.state, contents: nil))
            #expect(await refusal { try await rig.claimNamed("2") }?.shortName == "StorageUnavailable")
            #expect(try await rig.claimNamed("1") == "suppressed")
        }
    }

    @Test func whatIsAwaitedOutlivesALostFile() async throws {
        try await withFaultRig { rig in
            #expect(try await rig.claimNamed("1") == "awaited")
            try FileManager.default.removeItem(atPath: rig.state)
            _ = try? await rig.send("/note/1")
            try await rig.until("it has begun afresh") { (try? await rig.send("/note/2")) != nil }
            try await rig.daemon.restart()
            let id = try await rig.publish("/note/3", "awaited", ["source": "chat", "event-id": "1"])
            #expect(try await rig.outcome(of: id) == "claimed")
        }
    }

    /// The answer comes when the claim is on disk, and an event that was claimed before it came never gets a banner.
    @Test func whatIsAcknowledgedAsAwaitedOutlivesEveryKill() async throws {
        try await withFaultRig { rig in
            let awaited = Locked<[String]>([])
            for round in 1...5 {
                let claiming = Task {
                    for number in 1...10_000 {
                        let name = "\(round)-\(number)"
                        guard (try? await rig.claimNamed(name)) == "awaited" else { break }
                        awaited.withLock { $0.append(name) }
                    }
                }
                let enough = awaited.withLock { $0.count } + Int.random(in: 1...50)
                try await rig.until("some are awaited") { awaited.withLock { $0.count } >= enough }
                await rig.daemon.kill()
                await claiming.value
                try await rig.daemon.start()
            }
            let names = awaited.withLock { $0 }
            for name in names.prefix(200) + names.suffix(200) {
                let options: [String: Value] = ["source": "chat", "event-id": .string(name), "window": .uint32(0)]
                let id = try await rig.publish("/note/1", "awaited", options)
                #expect(try await rig.outcome(of: id) == "claimed", "\(name)")
            }
            #expect(rig.banners("awaited") == 0)
        }
    }

    // MARK: Refusals

    @Test func wrongOptionsAreRefusedByName() async throws {
        try await withFaultRig { rig in
            let wrong: [([String: Value], String)] = [
                (["colour": .string("red")], "there is no option 'colour'"),
                (["device": .uint32(1)], "option 'device' must be a string (s); it has type u"),
                (["device": .string(String(repeating: "x", count: 65))], "option 'device' has 65 bytes"),
                (["via": .string("")], "option 'via' has 0 bytes"),
                (["expires": .int64(-1)], "option 'expires' must be between"),
                (["read": .string("yes")], "option 'read' must be a boolean (b); it has type s"),
                (["read": .boolean(true), "withdrawn": .boolean(true)], "contradict each other"),
            ]
            for (options, words) in wrong {
                let error = await #expect(throws: NotifyError.self) {
                    try await rig.claimNamed("b", options)
                }
                #expect(error?.name == "org.notifyd.Router1.Error.InvalidEvent")
                #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
            }
            for (source, id) in [("", "1"), ("a", ""), (String(repeating: "x", count: 257), "1")] {
                #expect(await refusal { try await rig.claimNamed(id, from: source) }?.shortName == "InvalidEvent")
            }
            let awaited = try await rig.statistic("awaited-events")
            #expect(awaited == 0)
        }
    }

    /// What is awaited has no topic yet: the claim is judged when the event comes.
    @Test func aClaimThatIsForbiddenAtTheTopicHasNoEffect() async throws {
        let rule = "[[policy]]\ntopic = \"/post\"\ndeny = [\"claim\"]\nuser = \(getuid())\n"
        try await withRig(configuration: rule) { rig in
            let known = try await rig.client.publish("/post/1", options: Self.named("1"))
            let error = await #expect(throws: NotifyError.self) {
                try await rig.client.claimNamed(source: "chat", eventID: "1")
            }
            #expect(error?.name == "org.notifyd.Router1.Error.AccessDenied")
            #expect(try await rig.client.explain(known).outcome == nil)
            for name in ["2", "3"] {
                let verdict = try await rig.client.claimNamed(source: "chat", eventID: name, options: Self.phone)
                #expect(verdict == .awaited)
            }
            try await rig.daemon.restart()
            let denied = try await rig.client.publish("/post/2", options: Self.named("2", window: .zero))
            #expect(await rig.listener.resolution(of: denied)?.outcome == "shown")
            let allowed = try await rig.client.publish("/chat/3", options: Self.named("3", window: .zero))
            #expect(try await rig.client.explain(allowed).outcome == .claimed)
        }
    }
}

extension FaultRig {
    fileprivate func claimNamed(
        _ id: String, _ options: [String: Value] = ["device": "phone", "via": "mqtt"], from source: String = "chat"
    ) async throws -> String {
        let reply = try await call("ClaimNamed", [.string(source), .string(id), .variants(options)])
        return reply.arguments.first?.string ?? ""
    }
}
