import Routing
import Testing

@testable import NotifyDaemon

/// What a banner says, from the push to the words that go to the notification server.
struct BannerTextTests {
    @Test func whatIsShownBesideTheTextHasNoControlCharactersEither() {
        var appearance = Appearance()
        appearance.app = "a\u{1b}[31m\n\u{202e}b"
        appearance.category = "c\u{7}"
        appearance.sound = "\u{1}"
        appearance.desktopEntry = "d\u{2066}"
        appearance.icon = "file:///i\u{9b}"
        appearance.image = "/home/mina/\u{202e}picture"
        appearance.actions = [
            Route.Action(key: "open", label: "L\u{1b}]0;t\u{7}\n\u{202e}X", command: ["true"]),
            Route.Action(key: "k", label: "\u{202e}"),
        ]
        let cleaned = appearance.cleaned
        #expect(cleaned.app == "a[31m b" && cleaned.category == "c" && cleaned.sound == nil)
        #expect(cleaned.desktopEntry == "d" && cleaned.icon == "file:///i")
        #expect(cleaned.image == appearance.image, "a path is the name of a file")
        #expect(
            cleaned.actions == [
                Route.Action(key: "open", label: "L]0;t X", command: ["true"]), Route.Action(key: "k", label: "k"),
            ])
    }

    @Test func aRoutesTemplateSpeaksForItsEvents() throws {
        #expect(
            try text("/post/27", body: "Nice run!") == BannerText(title: "New activity on post 27", body: "Nice run!"))
        let invite = try text("/run/r1/invite", fields: [Field(name: "from", value: .string("Mina"))])
        #expect(invite == BannerText(title: "Mina invites you to a run", body: ""))
        let finished = try text("/run/r1/mate/영희/finished", fields: [Field(name: "distance", value: .uint32(5000))])
        #expect(finished == BannerText(title: "영희 finished", body: "5000 m"))
    }

    @Test func theEventsOwnTitleWinsOnEveryBuiltInRoute() throws {
        for topic in ["/post/27", "/run/r1/mate/영희/finished", "/run/r1/cancelled"] {
            #expect(try text(topic, title: "Nice!", body: "well") == BannerText(title: "Nice!", body: "well"))
            #expect(try text(topic, title: "Nice!", count: 2).title == "Nice! (2)")
            #expect(try text(topic).title != "Nice!")
        }
        let from = [Field(name: "from", value: .string("Mina"))]
        #expect(try text("/run/r1/invite", title: "Nice!", fields: from).title == "Nice!")
    }

    @Test func aTemplateOfAConfigurationWinsOverTheEventsTitle() throws {
        let configuration = "[[route]]\ntopic = \"/post/{id}\"\ntitle = \"Post {{id}}\"\n"
        #expect(try text("/post/27", title: "Nice!", configuration: configuration).title == "Post 27")
    }

    @Test func withoutATemplateTheEventSpeaksForItself() throws {
        #expect(try text("/build/main", title: "Built", body: "in 3 s") == BannerText(title: "Built", body: "in 3 s"))
    }

    @Test func anEventWithoutWordsGetsASentenceMadeFromItsTopic() throws {
        #expect(try text("/build/main") == BannerText(title: "News at /build/main", body: ""))
    }

    @Test func moreThanOneEventIsCountedInTheTitle() throws {
        #expect(try text("/post/27", count: 3).title == "New activity on post 27 (3)")
    }

    @Test func severalEventsWithTitlesOfTheirOwnAreNamedInTheBody() throws {
        let family = try request(
            "/chat/family", titles: ["Mum", "Dad", "Jun"], bodies: ["Dinner?", "On\nmy way", ""], count: 7)
        #expect(BannerText(family) == BannerText(title: "Jun (7)", body: "Jun\nDad: On my way\nMum: Dinner?"))
        let long = try request(
            "/chat/family", titles: ["a", "b"], bodies: ["", String(repeating: "x", count: 8000)], count: 2)
        #expect(BannerText(long).body.count <= 130)
    }

    @Test func eventsThatAreCalledTheSameHaveALineForEachBody() throws {
        let comments = try request("/chat/family", titles: ["Mum", "Mum"], bodies: ["one", "two"], count: 2)
        #expect(BannerText(comments) == BannerText(title: "Mum (2)", body: "two\none"))
        let equal = try request("/chat/family", titles: ["Mum", "Mum"], bodies: ["one", "one"], count: 2)
        #expect(BannerText(equal) == BannerText(title: "Mum (2)", body: "one"))
    }

    @Test func aTemplateHasASectionForEachEvent() throws {
        let configuration = """
            [[route]]
            topic = "/chat/{room}"
            title = "{{room}}"
            body = "{{#events}}[{{title}}{{#body}}: {{body}}{{/body}} of {{count}}]{{/events}}"
            """
        let family = try request(
            "/chat/family", titles: ["Mum", "Dad", "Jun"], bodies: ["Dinner?", "", "Yes"], count: 7,
            configuration: configuration)
        #expect(BannerText(family).body == "[Jun: Yes of 7][Dad of 7][Mum: Dinner? of 7]")
        let one = try text("/chat/family", title: "Mum", configuration: configuration)
        #expect(one == BannerText(title: "family", body: "[Mum of 1]"))
    }

    @Test func aTemplateThatCountsItselfIsLeftAlone() throws {
        let configuration = "[[route]]\ntopic = \"/a\"\ntitle = \"{{count}} letters\"\n"
        #expect(try text("/a", count: 3, configuration: configuration).title == "3 letters")
    }

    @Test func aSummarySaysHowManyAndNamesTheNewest() throws {
        let summary = try text("/post/27", count: 12, isSummary: true)
        #expect(summary == BannerText(title: "12 notifications", body: "The newest: New activity on post 27"))
    }

    @Test func textFromAPushIsNeverATemplate() throws {
        let configuration = "[[route]]\ntopic = \"/a\"\ntitle = \"{{title}}\"\n"
        let result = try text("/a", title: "{{body}} & <b>", body: "secret", configuration: configuration)
        #expect(result.title == "{{body}} & <b>")
    }

    @Test func aFieldCannotStandInForTheEventsOwnWords() throws {
        let configuration = "[[route]]\ntopic = \"/a/{id}\"\ntitle = \"{{id}} {{title}}\"\n"
        let fields = [Field(name: "id", value: .string("fake")), Field(name: "title", value: .string("fake"))]
        #expect(try text("/a/1", title: "real", fields: fields, configuration: configuration).title == "1 real")
    }

    @Test func controlCharactersAndDirectionMarksDoNotReachTheServer() {
        #expect(SafeText.cleaned("a\u{0}b\u{1B}[1mc\u{202E}d\u{9B}e", lineBreaks: true) == "ab[1mcde")
        #expect(SafeText.cleaned("a\nb\tc", lineBreaks: true) == "a\nb c")
        #expect(SafeText.cleaned("a\nb", lineBreaks: false) == "a b")
        #expect(SafeText.cleaned("영희 👩‍👧 é", lineBreaks: false) == "영희 👩‍👧 é")
    }

    @Test func markupIsEscapedOnce() {
        #expect("<b>&amp;</b>".escapedMarkup == "&lt;b&gt;&amp;amp;&lt;/b&gt;")
    }

    /// The request for a banner of events of one topic, the newest one last.
    private func request(
        _ topic: String, titles: [String], bodies: [String], count: Int, configuration: String = ""
    ) throws -> BannerRequest {
        var reader = ConfigurationReader()
        reader.add(file: "test.toml", text: configuration)
        let route = try reader.finish().routes.route(for: try Topic(topic))
        let events = try zip(titles, bodies).enumerated().map { index, words in
            Event(
                id: EventID(UInt64(index)), topic: try Topic(topic), title: words.0, body: words.1, fields: [],
                published: 0, sender: ":1.1", origin: Origin(), urgency: nil, retained: false, route: route)
        }
        return BannerRequest(
            call: BannerCall(1), replaces: nil, newest: events.last!, others: events.dropLast().reversed(),
            count: count, isSummary: false)
    }

    /// Publishes an event to a router and takes the text of the banner that comes of it.
    private func text(
        _ topic: String, title: String = "", body: String = "", fields: [Field] = [], count: Int = 1,
        isSummary: Bool = false, configuration: String = ""
    ) throws -> BannerText {
        var reader = ConfigurationReader()
        reader.add(file: "test.toml", text: configuration)
        let configuration = try reader.finish()
        var router = Router(routes: configuration.routes, firstID: EventID(1))
        let publication = Publication(topic: try Topic(topic), title: title, body: body, fields: fields, sender: ":1.1")
        let zero = Now(instant: Instant(microseconds: 0), uptime: Uptime(microseconds: 0))
        let effects = router.handle(.published(publication), at: zero).effects
        let events = effects.compactMap { effect in if case .announce(let event, _) = effect { event } else { nil } }
        let request = BannerRequest(
            call: BannerCall(1), replaces: nil, newest: try #require(events.first), count: count, isSummary: isSummary)
        return BannerText(request)
    }
}
