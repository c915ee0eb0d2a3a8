import Routing
import TOMLTables
import Testing

@testable import Watching

@Suite struct WindowRulesTests {
    private static let file = "focus.toml"

    private static func rules(_ text: String) throws -> WindowRules { try WindowRules.parse(text, file: file) }

    private static let posts = """
        [[screen]]
        app = "firefox"
        title = "^Post (?<id>[^ ]+) "
        topic = "/post/{id}"

        [[screen]]
        app = "Element"
        topic = "/chat"
        state = "visible"
        """

    private static func wanted(_ topic: String, focused: Bool = true) throws -> WindowRules.Wanted {
        WindowRules.Wanted(topic: try Topic(topic), isFocused: focused)
    }

    private static func firefox(_ title: String, focused: Bool = true, id: UInt64 = 1) -> Window {
        Window(id: id, app: "firefox-esr", instance: "Firefox", title: title, isFocused: focused)
    }

    // MARK: Windows

    @Test func theFocusedWindowHoldsItsTopic() throws {
        var rules = try Self.rules(Self.posts)
        #expect(rules.screens(of: [Self.firefox("Post 27 – Example")]) == [try Self.wanted("/post/27")])
        #expect(rules.screens(of: [Self.firefox("Inbox")]) == [])
        #expect(rules.screens(of: [Self.firefox("Post 28 – Example", focused: false)]) == [])
    }

    @Test func aVisibleWindowHoldsItsTopicIfTheRuleSaysSo() throws {
        var rules = try Self.rules(Self.posts)
        var chat = Window(id: 2, app: "element", title: "Lounge")
        #expect(rules.screens(of: [chat]) == [try Self.wanted("/chat", focused: false)])
        chat.isFocused = true
        #expect(rules.screens(of: [chat]) == [try Self.wanted("/chat")])
        chat.isFocused = false
        chat.isVisible = false
        #expect(rules.screens(of: [chat]) == [])
    }

    @Test func ofTwoWindowsWithOneTopicTheFocusedOneCounts() throws {
        var rules = try Self.rules(Self.posts)
        let windows = [
            Window(id: 1, app: "element", title: "a"), Window(id: 2, app: "element", title: "b", isFocused: true),
        ]
        #expect(rules.screens(of: windows) == [try Self.wanted("/chat")])
    }

    @Test func whereOnlyFocusedWindowsMatterNoOtherIsLookedAt() throws {
        var rules = try Self.rules(
            """
            [[screen]]
            app = "firefox"
            title = "^Post (?<id>[^ ]+) "
            topic = "/post/{id}"
            """)
        let windows = [
            Self.firefox("Post 27 – Example", id: 1), Self.firefox("Post 28 – Example", focused: false, id: 2),
        ]
        #expect(rules.screens(of: windows, focused: [0]) == [try Self.wanted("/post/27")])
        #expect(rules.screens(of: windows, focused: []) == [])
        #expect(rules.screens(of: windows) == rules.screens(of: windows, focused: [0]))
    }

    @Test func theFirstRuleThatFitsCounts() throws {
        var rules = try Self.rules(Self.posts + "\n[[screen]]\napp = \"firefox\"\ntopic = \"/web\"\n")
        #expect(rules.screens(of: [Self.firefox("Inbox")]) == [try Self.wanted("/web")])
        #expect(rules.screens(of: [Self.firefox("Post 27 ")]) == [try Self.wanted("/post/27")])
        #expect(rules.fit(Self.firefox("Post 27 "))?.rule == 0)
    }

    @Test(arguments: ["a/b", "a*", "it's", "{x}", String(repeating: "x", count: 65), "a\u{7}", "a\u{FFFE}", ".", ".."])
    func aCaptureThatIsNoSegmentGivesNoScreen(_ capture: String) throws {
        var rules = try Self.rules(Self.posts)
        let window = Self.firefox("Post \(capture) ")
        #expect(rules.screens(of: [window]) == [])
        #expect(rules.fit(window) == WindowRules.Fit(rule: 0, topic: nil))
    }

    @Test func aCaptureThatTookNoPartGivesNoScreen() throws {
        var rules = try Self.rules("[[screen]]\ntitle = \"^(?<id>x)?Post\"\ntopic = \"/post/{id}\"")
        #expect(rules.screens(of: [Self.firefox("Post")]) == [])
        #expect(rules.screens(of: [Self.firefox("xPost")]) == [try Self.wanted("/post/x")])
    }

    @Test func atMost64AreHeldTheFocusedOneAmongThem() throws {
        var rules = try Self.rules(
            "[[screen]]\ntitle = \"^(?<id>[0-9]+)$\"\ntopic = \"/n/{id}\"\nstate = \"visible\"")
        let windows = (1...1000).map { Self.firefox("\($0)", focused: $0 == 1000, id: UInt64($0)) }
        let wanted = rules.screens(of: windows)
        #expect(wanted.count == 64)
        #expect(wanted.first == (try Self.wanted("/n/1000")))
    }

    @Test func aTitleThatChangesIsMatchedAgain() throws {
        var rules = try Self.rules(Self.posts)
        for number in 1...500 {
            // The window changes its number now and then, as windows do that are closed and opened.
            let window = Self.firefox("Post \(number) ", id: UInt64(number / 2))
            #expect(rules.screens(of: [window]) == [try Self.wanted("/post/\(number)")])
        }
    }

    @Test func aTopicMayHaveTheNumberOfTheWindow() throws {
        var rules = try Self.rules(
            "[[screen]]\napp = \"xterm\"\ntitle = \"^(?<user>[a-z]+)\"\ntopic = \"/shell/lab/{user}/{window}\"")
        let window = Window(id: 7, number: 29_360_131, app: "XTerm", instance: "xterm", title: "joe", isFocused: true)
        #expect(rules.screens(of: [window]) == [try Self.wanted("/shell/lab/joe/29360131")])
        #expect(rules.screens(of: [Window(id: 8, app: "xterm", title: "joe", isFocused: true)]) == [])
        var own = try Self.rules("[[screen]]\ntitle = \"^(?<window>[a-z]+)\"\ntopic = \"/{window}\"")
        #expect(own.screens(of: [window]) == [try Self.wanted("/joe")])
    }

    @Test func titlesAreCut() {
        #expect(Window(id: 1, app: "", title: String(repeating: "é", count: 4000)).title.unicodeScalars.count == 512)
    }

    @Test func aPatternThatTakesTooLongIsToldOnceAndFitsNothing() throws {
        var rules = try Self.rules(
            """
            [[screen]]
            app = "firefox"
            topic = "/first"
            title = "^x"

            [[screen]]
            title = "^(?:a+)+b"
            topic = "/slow"

            [[screen]]
            app = "firefox"
            topic = "/web"
            """)
        for number in 1...3 {
            let window = Self.firefox(String(repeating: "a", count: 100 + number) + "-b")
            #expect(rules.screens(of: [window]) == [try Self.wanted("/web")])
            #expect(rules.takeGivenUp() == (number == 1 ? [1] : []))
        }
        #expect(rules.screens(of: [Self.firefox("aab")]) == [try Self.wanted("/slow")])
        #expect(rules.takeGivenUp() == [])
    }

    // MARK: Configuration

    @Test func anEmptyFileHasNoRules() throws { #expect(try Self.rules("# nothing\n").rules.isEmpty) }

    @Test(
        arguments: [
            ("[[screen]]\ntopic = \"/x\"", "neither 'app' nor 'title'"),
            ("[[screen]]\napp = \"\"\ntopic = \"/x\"", "'app' is empty"),
            ("[[screen]]\napp = \"x\"", "'topic' is missing here"),
            ("[[screen]]\napp = \"x\"\ntopic = \"x\"", "does not start with '/'"),
            ("[[screen]]\napp = \"x\"\ntopic = \"/x/{id}\"", "'title' has no capture (?<id>…)"),
            (
                "[[screen]]\ntitle = \"(\"\ntopic = \"/x\"",
                "focus.toml:2:1: 'title': missing closing parenthesis (after character 1 of the regular expression)"
            ),
            ("[[screen]]\napp = \"x\"\ntopic = \"/x\"\nstate = \"hidden\"", "one of \"focused\", \"visible\""),
            ("[[screen]]\napp = \"x\"\ntopic = \"/x\"\nwhen = 1", "there is no key 'when' here; the keys are app"),
            ("[[screen]]\napp = \"x\"\ntopic = \"/x\u{FFFE}\"", "has a character that no message can carry"),
            ("[[window]]\n", "there is no key 'window' here; the keys are screen"),
        ]) func mistakesSayWhatWouldBeRight(_ text: String, _ reason: String)
    {
        let error = #expect(throws: ConfigurationError.self) { _ = try Self.rules(text) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }
}
