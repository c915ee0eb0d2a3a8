import Routing
import TOMLTables
import Testing
import Watching

struct TabRulesTests {
    private let rules = try! TabRules.read(
        file: "browser.toml",
        text: """
            [[site]]
            address = "https://example.org/posts/{id}"
            topic = "/post/{id}"

            [[site]]
            address = "https://example.org/**"
            topic = "/example"
            state = "visible"

            [[page]]
            origin = "https://example.org"
            topics = ["/post", "/chat/red"]

            [[page]]
            origin = "https://chat.example"
            topics = ["/chat"]
            state = "visible"
            """)

    private func decision(
        _ address: String, topic: String? = nil, isFocused: Bool = true, isVisible: Bool = true
    ) -> TabDecision {
        rules.decision(
            for: Tab(id: 1, address: address, topic: topic, isFocused: isFocused, isVisible: isVisible))
    }

    @Test func theFirstRuleThatFitsCounts() throws {
        let post = decision("https://example.org/posts/27")
        #expect(post.topic == (try Topic("/post/27")))
        #expect(post.rule == .site(address: "https://example.org/posts/{id}"))
        #expect(decision("https://example.org/about").topic == (try Topic("/example")))
        #expect(decision("https://other.example/posts/27") == TabDecision())
    }

    @Test func aTabHasToBeSeenAsItsRuleSays() {
        #expect(decision("https://example.org/posts/27").state == .focused)
        #expect(decision("https://example.org/posts/27", isFocused: false).state == nil)
        #expect(decision("https://example.org/about").state == .focused)
        #expect(decision("https://example.org/about", isFocused: false).state == .visible)
        #expect(decision("https://example.org/about", isFocused: false, isVisible: false).state == nil)
    }

    @Test func aPageMaySayItByItselfWhereItsOriginIsAllowedTo() throws {
        let post = decision("https://example.org/anything", topic: "/post/31")
        #expect(post.topic == (try Topic("/post/31")))
        #expect(post.rule == .page(origin: try WebOrigin("https://example.org")))
        #expect(post.request == .allowed)
        #expect(decision("https://example.org/posts/27", topic: "/chat/red").topic == (try Topic("/chat/red")))
        #expect(decision("https://chat.example/", topic: "/chat/red/1", isFocused: false).state == .visible)
    }

    @Test(
        arguments: [
            ("https://example.org/posts/27", "/chat/blue"), ("https://example.org/posts/27", "/postal/1"),
            ("https://example.org/posts/27", "/chat/redder"), ("http://example.org/", "/post/1"),
            ("https://example.org:8443/", "/post/1"), ("https://evil.net/", "/post/27"),
        ])
    func aPageMayNameNoOtherTopic(_ address: String, _ topic: String) throws {
        let decision = decision(address, topic: topic)
        #expect(decision.request == .forbidden(try Topic(topic), origin: PageAddress(address)!.origin))
        #expect(decision.topic != (try Topic(topic)))
    }

    @Test func aPageThatIsNotAllowedCountsByItsAddress() throws {
        #expect(decision("https://example.org/posts/27", topic: "/run/1").topic == (try Topic("/post/27")))
    }

    @Test(arguments: ["", "/", "post/27", "/post/*", "/post//1", "/post/\u{202e}1", "/post/\u{FFFE}"])
    func whatIsNoTopicIsNone(_ topic: String) {
        #expect(decision("https://example.org/x", topic: topic).request == .invalid)
    }

    @Test(arguments: [
        "a%2Fb", "%7Bid%7D", "*", "a'b", "%0A", "%00", "", "%E2%80%AE1", "%EF%BF%BE", String(repeating: "7", count: 65),
    ])
    func aCaptureThatIsNoSegmentGivesNoScreen(_ segment: String) throws {
        let only = try TabRules.read(
            file: "browser.toml", text: "[[site]]\naddress = \"https://e.org/{id}\"\ntopic = \"/post/{id}\"")
        let tab = Tab(id: 1, address: "https://e.org/\(segment)", isFocused: true, isVisible: true)
        #expect(only.decision(for: tab) == TabDecision())
    }

    @Test(
        arguments: [
            (
                "[[site]]\naddress = \"https://e.org/{id}\"\ntopic = \"/post/{post}\"",
                "'topic' has {post}, and 'address' has not"
            ),
            ("[[site]]\naddress = \"https://e.org/\"", "'topic' is missing here"),
            (
                "[[site]]\naddress = \"e.org\"\ntopic = \"/post\"",
                "'address': an address begins with https:// or http://"
            ),
            ("[[site]]\naddress = \"https://e.org/\"\ntopic = \"post\"", "'topic': the topic does not start with '/'"),
            (
                "[[site]]\naddress = \"https://e.org/\"\ntopic = \"/post\"\nstate = \"hidden\"",
                "'state' must be one of \"focused\", \"visible\"; it is \"hidden\""
            ),
            ("[[page]]\norigin = \"https://e.org/a\"\ntopics = [\"/a\"]", "scheme, host and port alone: https://e.org"),
            ("[[page]]\norigin = \"https://e.org\"\ntopics = []", "at least one topic"),
            ("[[page]]\norigin = \"https://e.org\"\ntopics = [\"/\"]", "'/' alone names every topic, not one"),
            ("[site]\n", "each of which begins with [[site]]"),
            ("[[sites]]\n", "there is no key 'sites' here; the keys are page, site"),
        ])
    func aMistakeIsToldWithWhatWouldBeRight(_ text: String, _ reason: String) {
        let error = #expect(throws: ConfigurationError.self) { try TabRules.read(file: "browser.toml", text: text) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test func tabsAreComparedByTheirBytes() {
        var tab = Tab(id: 1, address: "https://e.org/", topic: "/post/\u{E9}", isFocused: true, isVisible: true)
        let before = tab
        tab.topic = "/post/e\u{301}"
        #expect(tab != before)
    }

    @Test func anEmptyFileHasNoRules() throws {
        let none = try TabRules.read(file: "browser.toml", text: "")
        #expect(none.sites.isEmpty && none.pages.isEmpty)
    }
}
