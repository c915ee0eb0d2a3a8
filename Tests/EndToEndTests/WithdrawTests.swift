import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What a publisher takes back, and what it publishes in place of something else.
@Suite(.timeLimit(.minutes(2)))
struct WithdrawTests {
    private let rig: Rig! = Fixture.current()
    private let open = PublishOptions(window: .seconds(60))

    @Test(.rig) func anOpenEventGetsNoBannerAndAShownOneLosesIt() async throws {
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
        #expect(await refusal { try await rig.client.withdraw(1) }?.shortName == "UnknownEvent")
    }

    @Test(.rig) func whatWasShownBeforeARestartIsTakenBackAndWhatWasMutedIsRead() async throws {
        let shown = try await rig.client.publish("/post/1", title: "t")
        let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
        #expect(await rig.listener.resolution(of: shown)?.outcome == "shown")
        try await rig.client.mute("/post", for: .seconds(600))
        let muted = try await rig.client.publish("/post/2", title: "t")
        #expect(await rig.listener.resolution(of: muted)?.outcome == "muted")
        try await rig.daemon.restart()
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

    @Test func thePublisherMayWithdrawAndOthersAsThePolicySays() async throws {
        let rule = "[[policy]]\ntopic = \"/post\"\ndeny = [\"publish\"]\nuser = \(getuid())\n"
        try await withRig { rig in
            let ids = [
                try await rig.client.publish("/post/1", options: open),
                try await rig.client.publish("/post/2", options: open),
                try await rig.client.publish("/note", options: open),
            ]
            try await rig.daemon.reload(rule)
            let denied = try await rig.run("withdraw", "\(ids[0])")
            #expect(denied.exit == .code(77))
            try await rig.client.withdraw(ids[0])
            #expect(try await rig.run("withdraw", "\(ids[2])").exit == .code(0))
            // Another bus could have given the same name to another program.
            try await rig.daemon.restart()
            #expect(await refusal { try await rig.client.withdraw(ids[1]) }?.shortName == "AccessDenied")
            #expect(try await rig.client.explain(ids[1]).outcome == nil)
        }
    }

    @Test(.rig) func aLaterEventTakesTheBannerOfTheEarlierOne() async throws {
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

/// `Snooze` with the real programs. The shortest snooze is a minute: that the banner comes back is tested in virtual
/// time.
@Suite(.timeLimit(.minutes(1)))
struct SnoozeTests {
    private let rig: Rig! = Fixture.current()

    @Test(.rig) func aSnoozedBannerIsClosedAndItsTimeOutlivesAKill() async throws {
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
        try await rig.daemon.restart()
        let again = try await rig.client.explain(id).snoozed
        #expect(abs(try #require(again) - explanation.snoozed!) < 1_000_000)
        #expect(try await rig.client.inbox().map(\.id) == [id])
    }

    @Test(.rig) func aSnoozedEventIsClaimedAndWhatIsReadCannotBeSnoozed() async throws {
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

/// What somebody has seen is not unread any more, whatever had become of it.
@Suite(.timeLimit(.minutes(2)))
struct MarkReadTests {
    private let rig: Rig! = Fixture.current()

    @Test(.rig) func whatWasNeverShownKeepsItsOutcomeAndIsRead() async throws {
        let muted = try await rig.mutedEvents(2)
        #expect(try await rig.client.unread() == 2)
        #expect(try await rig.client.markRead("/post", upTo: muted[0]) == 1)
        #expect(try await rig.client.unread() == 1)
        #expect(try await rig.run("history", "--unread", "--json=short").output.count == 1)
        #expect(try await rig.run("mark-read", "/post").output == ["1"])
        #expect(try await rig.client.unread() == 0)
        #expect(try await rig.client.markRead() == 0)
        #expect(try await rig.run("history", "--unread").exit == .code(1))
        try await rig.daemon.restart()
        #expect(try await rig.client.unread() == 0)
        for id in muted {
            let explanation = try await rig.client.explain(id)
            #expect(explanation.outcome == .muted)
            #expect(explanation.isRead)
            #expect(explanation.reason.hasPrefix("Its topic was muted: /post, until "))
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
                #expect(await refusal { try await rig.client.markRead(topic) }?.shortName == "AccessDenied")
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

/// `own-banner` with a real daemon: the publisher shows the banner, and hears by outcomes what to do with it.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct OwnBannerTests {
    private let stage: BannerStage! = Fixture.current()
    private let rig: Rig! = Fixture.current()

    private func options(_ number: Int = 0, window: Duration? = nil) -> PublishOptions {
        PublishOptions(
            source: "desktop", eventID: "\(number)", window: window, ownBanner: true,
            appearance: BannerOptions(buttons: [.init(key: "open", label: "Open")]))
    }

    @Test(.bannerStage) func theServerHearsNothingAndThePublisherHowEachEventEnds() async throws {
        let server = try await stage.server()
        func shown(_ number: Int) async throws -> EventID {
            let id = try await stage.client.publish("/app/chat", title: "t", options: options(number))
            let outcome = try await stage.outcome(of: id)
            #expect(outcome == BannerStage.Resolved(kind: "shown", banner: nil, count: 1))
            return id
        }
        let pressed = try await shown(1)
        try await stage.client.press("open", of: pressed)
        #expect(try await stage.action() == ["/app/chat", .uint64(pressed.rawValue), "open"])
        #expect(try await stage.outcome(of: pressed).kind == "retracted")
        let explanation = try await stage.client.explain(pressed)
        #expect(explanation.action == "open")
        #expect(explanation.reason.hasPrefix("It was shown. "))
        #expect(explanation.reason == "It was shown. The user pressed its button “open”.")

        let dismissed = try await shown(2)
        #expect(
            try await stage.client.claimNamed(
                source: "desktop", eventID: "2", options: NamedClaimOptions(.dismissed)) == .retracted)
        #expect(try await stage.outcome(of: dismissed).kind == "dismissed")
        let end = try await stage.client.explain(dismissed).reason
        #expect(end.hasPrefix("It was shown, and the user closed its banner; ") && end.hasSuffix(" said so."))
        let read = try await shown(3)
        #expect(try await stage.client.markRead("/app") == 1)
        #expect(try await stage.outcome(of: read).kind == "retracted")
        let withdrawn = try await shown(4)
        try await stage.client.withdraw(withdrawn)
        #expect(try await stage.outcome(of: withdrawn).kind == "withdrawn")
        #expect(try await stage.client.explain(withdrawn).reason.hasPrefix("It was shown. "))

        let snoozed = try await shown(5)
        #expect(
            try await stage.client.explain(snoozed).reason.hasSuffix("Its publisher was told to show the banner."))
        try await stage.client.snooze(snoozed, for: .seconds(600))
        #expect(try await stage.outcome(of: snoozed).kind == "muted")
        #expect(try await stage.client.explain(snoozed).reason.contains("snoozed it. It is snoozed"))
        #expect(try await stage.client.inbox().map(\.id) == [snoozed])

        // Other devices show a banner of their own.
        let event = try await stage.client.journalChanges().changes.last { $0.kind == "event" }
        #expect(event?.details["options"]?.entries?.keys.sorted() == ["actions"])
        #expect(server.banners.all.isEmpty)
    }

    @Test(.rig) func aShellScriptMayShowTheBanner() async throws {
        let sent = try await rig.run("send", "/app/chat", "Mina", "--own-banner", "--wait")
        #expect(sent.exit == .code(0))
        #expect(sent.output.last?.hasPrefix("shown") == true)
        #expect(rig.server.banners.all.isEmpty)
        #expect(try await rig.run("send", "/a", "--own-banner", "--no-banner").exit == .code(64))
    }
}

/// Values that come by a bridge, asked of a real daemon.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct IfNewerTests {
    private let rig: Rig! = Fixture.current()

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

    @Test(.rig) func theNewestValueStaysWhateverComesLaterAndOverARestart() async throws {
        let now: Int64 = 1_700_000_000_000_000
        let new = try await rig.client.publish("/value", options: options("b", published: now))
        let old = try await rig.client.publish("/value", title: "old", options: options("z", published: now - 1))
        let tie = try await rig.client.publish("/value", options: options("a", published: now))
        #expect(try await values(rig.client) == [new])
        let explanation = try await rig.client.explain(old)
        #expect(explanation.outcome == .silent && explanation.reason.contains("newer value"))

        // The same after a restart, and for a removal that comes too late.
        try await rig.daemon.restart()
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
