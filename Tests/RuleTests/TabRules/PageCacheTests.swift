import Routing
import Testing

@testable import Watching

struct PageCacheTests {
    private static func rules(topic: String) throws -> TabRules {
        try TabRules.read(
            file: "browser.toml",
            text: """
                [[site]]
                address = "https://example.org/posts/{id}"
                topic = "\(topic)"
                state = "visible"

                [[page]]
                origin = "https://example.org"
                topics = ["/article"]
                """)
    }

    private static func tab(
        _ address: String, topic: String? = nil, isFocused: Bool = true, isVisible: Bool = true
    ) -> Tab {
        Tab(id: 1, address: address, topic: topic, isFocused: isFocused, isVisible: isVisible)
    }

    @Test func whatIsRememberedIsWhatTheRulesSay() throws {
        let rules = try Self.rules(topic: "/post/{id}")
        let post = "https://example.org/posts/27"
        let tabs = [
            Self.tab(post), Self.tab(post, isFocused: false), Self.tab(post, isFocused: false, isVisible: false),
            Self.tab(post, topic: "/article/1"), Self.tab(post, topic: "/post/1"), Self.tab(post, topic: "none"),
            Self.tab(post), Self.tab("https://example.org/posts/28"), Self.tab("https://other.example/"),
        ]
        var cache = PageCache()
        for tab in tabs + tabs { #expect(cache.decision(for: tab, by: rules) == rules.decision(for: tab)) }
        #expect(cache.count == 3)
    }

    @Test func itIsEmptiedForNewRules() throws {
        let tab = Self.tab("https://example.org/posts/27")
        var cache = PageCache()
        _ = cache.decision(for: tab, by: try Self.rules(topic: "/post/{id}"))
        cache.empty()
        let topic = cache.decision(for: tab, by: try Self.rules(topic: "/other/{id}")).topic
        #expect(topic == (try Topic("/other/27")))
    }

    @Test func itDoesNotGrow() throws {
        let rules = try Self.rules(topic: "/post/{id}")
        var cache = PageCache()
        for number in 0..<1000 {
            _ = cache.decision(for: Self.tab("https://example.org/posts/\(number)"), by: rules)
            #expect(cache.count <= PageCache.limit)
        }
        cache.empty()
        let long = String(repeating: "a", count: PageCache.longest)
        _ = cache.decision(for: Self.tab("https://example.org/\(long)"), by: rules)
        _ = cache.decision(for: Self.tab("https://example.org/", topic: "/\(long)"), by: rules)
        #expect(cache.count == 0)
    }
}
