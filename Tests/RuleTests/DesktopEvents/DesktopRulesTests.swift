import Routing
import TOMLTables
import Testing
import Watching

/// `desktop.toml`, and what it makes of a notification.
struct DesktopRulesTests {
    private func rules(_ text: String) throws -> DesktopRules {
        try TableReader.read(file: "desktop.toml", text: text, DesktopRules.read)
    }

    private func mistake(_ text: String) -> String? {
        #expect(throws: ConfigurationError.self) { try rules(text) }?.description
    }

    private func notice(_ title: String = "", app: String = "Slack") -> Notice {
        var notice = Notice()
        (notice.app, notice.title) = (app, title)
        return notice
    }

    private func route(_ rules: DesktopRules, _ notice: Notice) -> DesktopRules.Route? {
        if case .take(let route) = rules.decision(for: notice) { route } else { nil }
    }

    @Test func aProgramWithoutARuleStaysADayOnThisDevice() throws {
        let found = try #require(self.route(DesktopRules(), notice()))
        #expect(found.topic.description == "/app/Slack")
        #expect(found.keep == .seconds(24 * 3600))
        #expect(!found.isShared)
        #expect(found.rule == nil)
    }

    @Test(arguments: [
        ("Slack", "/app/Slack"), ("a/b'c\\{d}*", "/app/a-b-c--d--"), ("..", "/app/-"), ("", "/app/unknown"),
        ("영희", "/app/영희"), ("a\u{1B}b\u{FFFF}", "/app/a-b-"),
        (String(repeating: "é", count: 40), "/app/" + String(repeating: "é", count: 32)),
    ])
    func everyNameMakesATopic(_ app: String, _ topic: String) throws {
        #expect(route(DesktopRules(), notice(app: app))?.topic.description == topic)
    }

    @Test func aProgramWithoutANameHasThatOfItsDesktopFile() {
        var notice = notice(app: "")
        notice.desktopEntry = "org.example.Chat"
        #expect(route(DesktopRules(), notice)?.topic.description == "/app/org.example.Chat")
    }

    @Test func capturesMakeTheTopic() throws {
        let rules = try rules(
            #"""
            [[app]]
            app = "slack"
            title = "^#(?<room>[a-z0-9-]+)"
            topic = "/slack/{room}"
            keep = "1h"
            share = true
            claim = "app"
            """#)
        let fit = try #require(self.route(rules, notice("#swift: Mina")))
        #expect(fit.topic.description == "/slack/swift")
        #expect(fit.keep == .seconds(3600))
        #expect(fit.isShared)
        #expect(fit.isSeenWithProgram)
        #expect(fit.rule == 1)
        #expect(route(rules, notice("Mina"))?.rule == nil)
    }

    @Test func aCaptureThatIsNoSegmentLeavesTheTopicOfTheProgram() throws {
        let rules = try rules("[[app]]\ntitle = \"in (?<room>.*)\"\ntopic = \"/chat/{room}\"\nshare = true")
        let found = try #require(self.route(rules, notice("in a/b")))
        #expect(found.topic.description == "/app/Slack")
        #expect(found.isShared)
    }

    @Test func aProgramIsLeftAlone() throws {
        let rules = try rules("[[app]]\napp = \"Slack\"\nkeep = \"0\"")
        #expect(rules.decision(for: notice()) == .leave(rule: 1, reason: "its rule leaves it alone"))
    }

    @Test func theFirstRuleThatFitsCounts() throws {
        let rules = try rules(
            "[[app]]\ncategory = \"im\"\ntopic = \"/im\"\n[[app]]\napp = \"Slack\"\ntopic = \"/slack\"")
        var notice = notice()
        #expect(route(rules, notice)?.topic.description == "/slack")
        notice.category = "im.received"
        #expect(route(rules, notice)?.topic.description == "/im")
        notice.category = "image"
        #expect(route(rules, notice)?.topic.description == "/slack")
    }

    @Test func theUnitOfAProgramIsCompared() throws {
        let rules = try rules("[[app]]\nunit = \"backup\"\ntopic = \"/backup\"")
        #expect(rules.needUnit)
        var notice = notice()
        #expect(route(rules, notice)?.rule == nil)
        notice.unit = "backup.service"
        #expect(route(rules, notice)?.rule == 1)
    }

    @Test func theWholeTextIsCompared() throws {
        let rules = try rules("[[app]]\nbody = \"code [0-9]+\"\nkeep = \"0\"\n[[app]]\ntitle = \"\"\nshare = true")
        var notice = notice()
        notice.body = String(repeating: "x ", count: 4000) + "code 123456"
        #expect(rules.decision(for: notice) == .leave(rule: 1, reason: "its rule leaves it alone"))
        // What notifyd is not told is not compared either.
        notice.body = String(repeating: "x", count: 8192) + "code 123456"
        #expect(route(rules, notice)?.rule == 2)
        notice.body = "co\u{FFFF}de 123456"
        #expect(route(rules, notice) == nil)
    }

    /// `(a+)+[bc]` takes more steps than there are.
    @Test func aTextThatTakesTooLongToCompareIsNotShared() throws {
        let evil = "[[app]]\ntitle = \"^(a+)+[bc]\"\n"
        let sharing = "[[app]]\ntitle = \"\"\nshare = true"
        let notice = notice(String(repeating: "a", count: 60))
        let found = try #require(self.route(try rules(evil + sharing), notice))
        #expect(found.rule == 2)
        #expect(!found.isShared)
        #expect(
            try rules(evil + "keep = \"0\"\n" + sharing).decision(for: notice)
                == .leave(rule: 1, reason: "it takes too long to compare with a rule that leaves alone"))
    }

    @Test func whatKDEConnectShowsIsTakenOnlyIfARuleNamesIt() throws {
        let notice = notice(app: "KDE Connect")
        #expect(route(DesktopRules(), notice) == nil)
        #expect(route(try rules("[[app]]\napp = \"KDE Connect\""), notice) != nil)
    }

    @Test(arguments: [
        ("[[app]]\ntopic = \"/a\"", "desktop.toml:1:1: this rule has none of 'app'"),
        ("[[app]]\napp = \"\"", "desktop.toml:2:1: 'app' is empty"),
        (
            "[[app]]\napp = \"a\"\ntopic = \"/a/{b}\"",
            "desktop.toml:3:1: neither 'title' nor 'body' has a capture (?<b>…)"
        ),
        ("[[app]]\ntitle = \"(\"", "desktop.toml:2:1: 'title': "),
        ("[[app]]\napp = \"a\"\ntopic = \"a\"", "desktop.toml:3:1: 'topic': "),
        ("[[app]]\napp = \"a\"\nkeep = \"500d\"", "desktop.toml:3:1: 'keep' must be"),
        (
            "[[app]]\napp = \"a\"\nkeep = \"999ms\"",
            "desktop.toml:3:1: 'keep' must be 0, or between 1s and 366d; it is 999ms"
        ),
        (
            "[[app]]\ncategory = \"im.\"",
            "desktop.toml:2:1: 'category' is \"im.\"; \"im\" is for all that begin with it and a dot"
        ),
        ("[[app]]\napp = \"a\"\nclaim = \"room\"", "desktop.toml:3:1: 'claim' must be one of \"app\"; it is \"room\""),
        ("[[app]]\napp = \"a\"\nsound = \"x\"", "desktop.toml:3:1:"),
    ])
    func mistakesHaveTheirPlaces(_ text: String, _ words: String) throws {
        #expect(try #require(mistake(text)).contains(words))
    }
}

/// What notifyd is told about a notification.
struct NoticeTests {
    @Test(arguments: [
        ("a <b>bold</b> &amp; <i>slanted</i> one", "a bold & slanted one"), ("1 < 2 && 3 > 2", "1 < 2 && 3 > 2"),
        ("<a href=\"https://example.org\">link</a>", "link"), ("one<br/>two", "one\ntwo"),
        ("&lt;b&gt; &#39;&#x263A;&quot;&apos;", "<b> '☺\"'"), ("&unknown; <unknown> <", "&unknown; <unknown> <"),
        ("<b>&lt;i&gt;</b>", "<i>"), ("<é>a</é> <B>b</B> </p>c", "<é>a</é> b c"), ("&é;&#55296;", "&é;&#55296;"),
    ])
    func markupBecomesText(_ markup: String, _ text: String) {
        #expect(Notice.plainText(ofMarkup: markup) == text)
    }

    /// A text of this length takes some milliseconds; one whose time grew by the square took hours.
    @Test(arguments: ["<", "&", "<!--", "<b", "</", "&#1"]) func hostileMarkupTakesNoLonger(_ part: String) {
        let body = String(repeating: part, count: (1 << 20) / part.utf8.count)
        let start = ContinuousClock.now
        #expect(body.hasPrefix(Notice.plainText(ofMarkup: body)))
        #expect(Notice.plainText(ofMarkup: body + ">").utf8.count <= 64 << 10)
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func whatNotifydWouldRefuseIsCutOrLeftOut() {
        var notice = Notice()
        notice.title = String(repeating: "t", count: 2000)
        notice.body = "a\u{FFFF}b"
        notice.icon = "https://example.org/icon.png"
        notice.image = "image.png"
        notice.urgency = 9
        notice.progress = 300
        notice.buttons =
            [Notice.Button(key: "", label: "none"), Notice.Button(key: "a\nb", label: "line")]
            + (1...10).map { Notice.Button(key: "\($0)", label: "") } + [Notice.Button(key: "1", label: "again")]
        let result = notice.publishable
        #expect(result.title.utf8.count == 1024)
        #expect(result.body == "ab")
        #expect(result.icon.isEmpty)
        #expect(result.image.isEmpty)
        #expect(result.urgency == 2)
        #expect(result.progress == 100)
        #expect(result.buttons.map(\.key) == (1...8).map { "\($0)" })
        #expect(result.buttons.map(\.label) == (1...8).map { "\($0)" })
    }
}
