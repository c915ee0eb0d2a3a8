import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The quirks of real notification servers, each with a stand-in that has it.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BannerServerTests {
    private let stage: BannerStage! = Fixture.current()

    // MARK: Plasma

    @Test(.bannerStage) func aRefusedRepetitionCountsAsShown() async throws {
        let server = try await stage.server(.plasma)
        let first = try await stage.client.send("/note/1", title: "The same", body: "words")
        #expect(try await stage.outcome(of: first) == .init(kind: "shown", banner: 1, count: 1))
        // One more than the failures in a row that have a server left alone.
        for number in 2...5 {
            let id = try await stage.client.send("/note/\(number)", title: "The same", body: "words")
            #expect(try await stage.outcome(of: id) == .init(kind: "shown", banner: nil, count: 1))
            #expect(try await stage.client.claim(id) == .recorded)
        }
        let other = try await stage.client.send("/note/6", title: "Other", body: "words")
        #expect(try await stage.outcome(of: other) == .init(kind: "shown", banner: 2, count: 1))
        #expect(server.banners.all.map(\.id) == [1, 0, 0, 0, 0, 2])
        #expect(server.closes.all.isEmpty)
        #expect(try await stage.statistic("banner-failures") == 0)
        #expect(try await stage.statistic("notification-server-rests") == 0)
    }

    @Test func aRefusedUpdateKeepsItsBanner() async throws {
        // A title that never says how many there are makes the update the same as the banner.
        let route = """
            [[route]]
            topic = "/note/{id}"
            title = "News{{#nothing}}{{count}}{{/nothing}}"
            """
        try await withBannerStage(route) { stage in
            let server = try await stage.server(.plasma)
            let first = try await stage.client.send("/note/1")
            #expect(try await stage.outcome(of: first) == .init(kind: "shown", banner: 1, count: 1))
            let second = try await stage.client.send("/note/1")
            #expect(try await stage.outcome(of: second) == .init(kind: "shown", banner: 1, count: 2))
            #expect(server.banners.all.map(\.replaces) == [0, 1])
            #expect(try await stage.client.claim(first) == .recorded)
            #expect(try await stage.client.claim(second) == .retracted)
            #expect(try await stage.close(on: server) == 1)
        }
    }

    // MARK: GNOME

    @Test(.bannerStage) func allCallsComeFromTheConnectionThatHasTheName() async throws {
        let server = try await stage.server(.gnome)
        let first = try await stage.client.send("/note/1", title: "one")
        _ = try await stage.outcome(of: first)
        let second = try await stage.client.send("/note/1", title: "two")
        #expect(try await stage.outcome(of: second).banner == 1)
        _ = try await stage.client.claim(first)
        _ = try await stage.client.claim(second)
        #expect(try await stage.close(on: server) == 1)
        try await stage.until("the banner is gone") { server.showing.isEmpty }
        let senders = Set(server.banners.all.map(\.sender) + server.closes.all.map(\.sender))
        #expect(senders == [try #require(await stage.connection.owner(of: Router.name))])
    }

    // MARK: mako

    @Test(.bannerStage) func closingWhatIsGoneIsNoFailure() async throws {
        let server = try await stage.server(.mako)
        for number in 1...4 {
            let id = try await stage.client.send("/note/\(number)", title: "one")
            let banner = try #require(try await stage.outcome(of: id).banner)
            server.lose(banner)
            #expect(try await stage.client.claim(id) == .retracted)
            #expect(try await stage.close(on: server) == banner)
            #expect(try await stage.outcome(of: id).kind == "retracted")
        }
        #expect(try await stage.statistic("banner-failures") == 0)
        let last = try await stage.client.send("/note/5", title: "two")
        #expect(try await stage.outcome(of: last).kind == "shown")
        #expect(server.showing.map(\.title) == ["two"])
    }

    // MARK: What a server says by itself

    @Test(.bannerStage) func signalsAboutOthersBannersMeanNothing() async throws {
        let server = try await stage.server(.mako)
        let other = try await Connection.open(stage.bus.address)
        // Somebody mirrors every banner, and what becomes of the mirror image is told to everybody.
        for number: UInt32 in [1, 3] {
            let id = try await stage.client.send("/note/\(number)", title: "one")
            #expect(try await stage.outcome(of: id).banner == number)
            let banner = try await stage.banner(on: server)
            let answer = try await other.call(
                .call(
                    "Notify", of: NotificationServer.name, at: "/org/freedesktop/Notifications",
                    on: NotificationServer.name,
                    [
                        .string(banner.application), .uint32(0), "", .string(banner.title), .string(banner.body),
                        .strings([]), .variants([:]), .int32(-1),
                    ]))
            #expect(answer.arguments == [.uint32(number + 1)])
            _ = try await stage.banner(on: server)
            server.invoke("default", on: number + 1)
            server.dismiss(number + 1)
        }
        server.dismiss(1)
        try await stage.until("dismissed", is: 1)
        #expect(try await stage.statistic("published") == 2)
        #expect(try await stage.statistic("banner-calls") == 2)
        #expect(stage.signals.all.allSatisfy { $0.member != "ActionInvoked" })
        #expect(server.showing.map(\.id) == [3])
        other.close()
    }

    // MARK: What a server can do

    @Test(.bannerStage) func textIsEscapedWhereTheServerCouldNotSayWhatItUnderstands() async throws {
        let server = try await stage.server(.failsFirstCapabilitiesCall, capabilities: ["body", "body-markup"])
        let id = try await stage.client.send("/note/1", title: "one", body: "a <b> & c")
        _ = try await stage.outcome(of: id)
        #expect(try await stage.banner(on: server).body == "a &lt;b&gt; &amp; c")
    }
}

/// Notification servers that hang, fail, leave in the middle of a call and start again.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BannerFaultTests {
    private let stage: BannerStage! = Fixture.current()

    @Test(.bannerStage) func aHungServerGetsFourCallsThenARestAndItsLateAnswersCount() async throws {
        let server = try await stage.server(mode: .hanging)
        var ids: [EventID] = []
        for number in 1...6 {
            ids.append(try await stage.client.send("/note/\(number)", title: "\(number)"))
        }
        try await stage.until("banner-calls", is: 4)
        try await stage.until("all windows are over") { try await stage.statistic("open-windows") == 0 }
        #expect(server.banners.all.map(\.title) == ["1", "2", "3", "4"])
        // Five seconds after the calls they are given up, and that is more failures in a row than it takes.
        try await stage.until("notification-server-rests", is: 1)
        #expect(try await stage.client.pending() == 6)
        #expect(try await stage.client.claim(ids[0]) == .suppressed)
        #expect(try await stage.outcome(of: ids[0]).kind == "claimed")

        server.setMode(.normal)
        for id in ids.dropFirst() { #expect(try await stage.outcome(of: id).kind == "shown") }
        try await stage.until("every event that waits is in one banner, and the claimed one in none") {
            server.showing.map(\.title).sorted() == ["2", "3", "4", "5", "6"]
        }
        try await stage.until("notification-server-rests", is: 0)
        // What came late is as good as any other banner.
        for id in ids.dropFirst() { #expect(try await stage.client.claim(id) == .retracted) }
        try await stage.until("all banners are closed") { server.showing.isEmpty }
    }

    @Test(.bannerStage, arguments: [.repliesZero, .repliesText] as [NotificationServer.Quirks])
    func aBannerThatIsAnsweredWithoutANumberIsShownOnce(_ quirks: NotificationServer.Quirks) async throws {
        let server = try await stage.server(quirks)
        let first = try await stage.client.send("/note/1", title: "one")
        #expect(try await stage.outcome(of: first) == .init(kind: "shown", banner: nil, count: 1))
        let second = try await stage.client.send("/note/2", title: "two")
        #expect(try await stage.outcome(of: second).kind == "shown")
        #expect(server.banners.all.map(\.title) == ["one", "two"])
        try await stage.logged("answered without a number")
    }

    @Test(.bannerStage) func numbersMeanNothingOnceTheNameHasBeenGivenUp() async throws {
        let server = try await stage.server()
        var ids: [EventID] = []
        for number in 1...3 {
            ids.append(try await stage.client.send("/note/\(number)", title: "old"))
            #expect(try await stage.outcome(of: ids[number - 1]).banner == UInt32(number))
        }
        try await server.releaseName()
        try await stage.until("notification-server", is: 0)
        // Even where the owner's unique name is the same as before.
        try await server.takeName()
        try await stage.until("notification-server", is: 1)
        let new = try await stage.client.send("/note/3", title: "new")
        #expect(try await stage.outcome(of: new) == .init(kind: "shown", banner: 1, count: 1))
        for id in ids {
            #expect(try await stage.client.claim(id) == .recorded)
            #expect(try await stage.outcome(of: id).kind == "retracted")
        }
        #expect(server.banners.all.last?.replaces == 0)
        #expect(try await stage.client.claim(new) == .retracted)
        #expect(try await stage.close(on: server) == 1)
        #expect(server.closes.all.count == 1)
    }
}

/// Banners outlive a restart of the daemon, or its crash, as long as the notification server stays.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BannerRestartTests {
    private let stage: BannerStage! = Fixture.current()

    /// The daemon waits for the answer of the notification server before it ends, and keeps the outcome.
    @Test(.bannerStage) func aBannerThatIsUnderWayAtAStopIsNotShownAgain() async throws {
        let server = try await stage.server()
        server.setMode(.hanging)
        let id = try await stage.client.send("/note/1", title: "one")
        #expect(await server.banners.next(within: .seconds(5)) != nil)
        stage.daemon.signal(SIGTERM)
        #expect(await stage.daemon.errors.next(within: .seconds(5)) { $0.contains("Stopping") } != nil)
        server.setMode(.normal)
        #expect(await stage.daemon.waitForExit() == .code(0))
        try await stage.daemon.start()
        #expect(try await stage.client.explain(id).outcome == .shown)
        #expect(try await stage.client.claim(id) == .retracted)
        #expect(server.banners.all.count == 1)
    }

    /// What cannot be kept of it is shown again, so that nothing is lost.
    @Test(.bannerStage) func aStopDoesNotWaitForEverForAServerThatHangs() async throws {
        let server = try await stage.server()
        server.setMode(.hanging)
        let id = try await stage.client.send("/note/1", title: "one")
        #expect(await server.banners.next(within: .seconds(5)) != nil)
        #expect(await stage.daemon.stop() == .code(0))
        #expect(server.answers.all.isEmpty)
        server.setMode(.normal)
        try await stage.daemon.start()
        #expect(try await stage.outcome(of: id).kind == "shown")
    }

    @Test(.bannerStage) func theirButtonsWork() async throws {
        let server = try await stage.server(.broadcastsSignals)
        let id = try await stage.client.publish(
            "/run/r1/invite", title: "", body: "", fields: ["from": .string("Mina")])
        _ = try await stage.outcome(of: id)
        try await stage.crash()
        server.invoke("accept", on: 1)
        #expect(try await stage.action() == ["/run/r1/invite", .uint64(id.rawValue), "accept"])
    }
}

extension BannerStage {
    fileprivate func crash() async throws {
        try await daemon.restart()
        // It has its name before it listens to the server.
        try await until("notification-server", is: 1)
    }
}
