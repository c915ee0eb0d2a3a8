import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What a server is told about a banner, and how many banners there are.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BannerAppearanceTests {
    private let stage: BannerStage! = Fixture.current()

    @Test func theRouteSaysHowABannerLooks() async throws {
        let route = """
            [[route]]
            topic = "/build/{project}"
            urgency = "low"
            icon = "applications-development"
            category = "transfer.complete"
            sound = "complete"
            desktop_entry = "org.example.Builder"
            timeout = "5s"
            [[route]]
            topic = "/for/ever"
            timeout = "0s"
            [[route]]
            topic = "/for/a/blink"
            timeout = "1us"
            """
        try await withBannerStage(route) { stage in
            let server = try await stage.server()
            try await stage.client.send("/build/notifyd", title: "Built")
            let full = try await stage.banner(on: server)
            #expect(full.application == "notifyd")
            #expect(full.icon == "applications-development")
            #expect(
                full.hints == [
                    "urgency": .byte(0), "category": "transfer.complete", "sound-name": "complete",
                    "desktop-entry": "org.example.Builder", "x-notifyd": .boolean(true),
                ])
            #expect(full.timeout == 5000)

            try await stage.client.send("/note/1", title: "Plain")
            let plain = try await stage.banner(on: server)
            #expect(plain.icon == "org.notifyd")
            #expect(plain.hints == ["x-notifyd": .boolean(true)])
            #expect(plain.timeout == -1)

            for (topic, timeout) in [("/for/ever", 0), ("/for/a/blink", 1)] as [(String, Int32)] {
                try await stage.client.send(topic, title: "Timed")
                #expect(try await stage.banner(on: server).timeout == timeout)
            }
        }
    }

    @Test(.bannerStage("")) func theEventSaysHowItsBannerLooks() async throws {
        let server = try await stage.server()
        let own = BannerOptions(
            app: "Chat", icon: "/icons/a b.svg", image: "/tmp/mina.png", category: "im.received", sound: "bell",
            desktopEntry: "org.example.Chat", timeout: .milliseconds(1500), isTransient: true, isResident: true,
            progress: 40, buttons: [BannerOptions.Button(key: "yes", label: "Yes")])
        let id = try await stage.client.publish(
            "/chat/1", title: "Mina", options: PublishOptions(appearance: own))
        let banner = try await stage.banner(on: server)
        #expect(banner.application == "Chat")
        #expect(banner.icon == "file:///icons/a%20b.svg")
        #expect(banner.timeout == 1500)
        #expect(banner.actions == ["yes", "Yes"])
        #expect(
            banner.hints == [
                "image-path": "file:///tmp/mina.png", "category": "im.received", "sound-name": "bell",
                "desktop-entry": "org.example.Chat", "transient": .boolean(true), "resident": .boolean(true),
                "value": .int32(40), "x-notifyd": .boolean(true),
            ])
        let entry = try #require(try await stage.client.inbox().first)
        #expect(entry.id == id)
        #expect(entry.appearance == BannerOptions(app: "Chat", icon: "/icons/a b.svg", buttons: own.buttons))
        // The journal keeps it.
        try await stage.client.publish("/chat/1", title: "Tom", options: PublishOptions(appearance: own))
        #expect(try await stage.banner(on: server).application == "Chat")
    }

    @Test func afterARestartAnEventHasTheRouteOfItsNameInForce() async throws {
        let route = "[[route]]\ntopic = \"/note/{id}\"\ntitle = \"Old {{title}}\"\n"
        let changed = """
            [[route]]
            topic = "/note/{id}"
            title = "New {{title}}"
            [[route]]
            topic = "/note/1"
            title = "Another route"
            """
        try await withBannerStage(route) { stage in
            try await stage.client.send("/note/1", title: "words")
            try stage.daemon.configure(bannerDefaults + changed)
            _ = await stage.daemon.stop()
            try await stage.daemon.start()
            let server = try await stage.server()
            #expect(try await stage.banner(on: server).title == "New words")
        }
    }
}
