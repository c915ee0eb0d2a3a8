import NotifyClient
import NotifyRehearsal
import Testing

/// The quirks of real notification servers, each with a stand-in that has it.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BannerServerTests {
    // MARK: Plasma

    @Test func aRefusedRepetitionCountsAsShown() async throws {
        try await withBannerStage { stage in
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

    @Test func allCallsComeFromTheConnectionThatHasTheName() async throws {
        try await withBannerStage { stage in
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
    }

    // MARK: mako

    @Test func closingWhatIsGoneIsNoFailure() async throws {
        try await withBannerStage { stage in
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
    }

    // MARK: What a server says by itself

    private static let clickable = """
        [[route]]
        topic = "/note/{id}"
        actions = [ { key = "default", label = "Open" } ]
        """

    @Test func signalsAboutOthersBannersMeanNothing() async throws {
        try await withBannerStage { stage in
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
    }

    // MARK: What a server can do

    @Test func textIsEscapedWhereTheServerCouldNotSayWhatItUnderstands() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server(.failsFirstCapabilitiesCall, capabilities: ["body", "body-markup"])
            let id = try await stage.client.send("/note/1", title: "one", body: "a <b> & c")
            _ = try await stage.outcome(of: id)
            #expect(try await stage.banner(on: server).body == "a &lt;b&gt; &amp; c")
        }
    }
}
