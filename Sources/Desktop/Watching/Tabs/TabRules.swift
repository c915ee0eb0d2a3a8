import NotifyText
package import Routing
package import TOMLTables

/// The rules of browser.toml, and what they make of tabs.
package struct TabRules: Sendable {
    package var sites: [SiteRule] = []
    package var pages: [PageRule] = []

    /// No rules: no tab is a screen.
    package init() {}

    /// What a tab is a screen of. What a page may say by itself goes before the rules for its address, the first of
    /// which that fits counts.
    package func decision(for tab: Tab) -> TabDecision {
        decision(address: tab.address, said: tab.topic).seen(in: tab)
    }

    /// What a page is a screen of, however well it is seen: without a state.
    ///
    /// - Parameter said: what it names by itself.
    func decision(address: String, said: String?) -> TabDecision {
        var decision = TabDecision()
        guard let page = PageAddress(address) else { return decision }
        if let said {
            if let topic = try? Topic(said), topic.isPlain {
                if let rule = pages.first(where: { $0.allows(topic, from: page.origin) }) {
                    decision.request = .allowed
                    (decision.topic, decision.rule, decision.needed) = (topic, .page(origin: rule.origin), rule.state)
                    return decision
                }
                decision.request = .forbidden(topic, origin: page.origin)
            } else {
                decision.request = .invalid
            }
        }
        for rule in sites {
            guard let topic = rule.topic(of: page) else { continue }
            decision.rule = .site(address: rule.address.description)
            (decision.topic, decision.needed) = (topic, rule.state)
            break
        }
        return decision
    }
}

extension TabDecision {
    /// With the state of a tab that shows the page.
    fileprivate func seen(in tab: Tab) -> TabDecision {
        guard topic != nil else { return self }
        var decision = self
        decision.state = tab.isFocused ? .focused : tab.isVisible && needed == .visible ? .visible : nil
        return decision
    }
}

extension TabRules {
    /// Rules of each kind in a file.
    private static let maximum = 256

    /// Reads the text of browser.toml.
    ///
    /// - Throws: all mistakes, with their places.
    package static func read(file: String, text: String) throws(ConfigurationError) -> TabRules {
        try TableReader.read(file: file, text: text) { root in
            var rules = TabRules()
            rules.sites = root.tables("site", upTo: maximum, readSite)
            rules.pages = root.tables("page", upTo: maximum, readPage)
            return rules
        }
    }

    private static func readSite(_ table: inout TableReader) -> SiteRule? {
        let address = table.required("address") { $0.parsed($1, AddressPattern.init) }
        let topic = table.required("topic") { $0.parsed($1) { text throws(TopicError) in try TopicPattern(text) } }
        let state = table.word("state", of: WindowRule.State.self) ?? .focused
        guard let address, let topic else { return nil }
        let names = Set(address.captureNames)
        for name in topic.captureNames where !names.contains(name) {
            table.note("topic", "'topic' has {\(name)}, and 'address' has not")
        }
        return SiteRule(address: address, topic: topic, state: state == .focused ? .focused : .visible)
    }

    private static func readPage(_ table: inout TableReader) -> PageRule? {
        let origin = table.required("origin") { $0.parsed($1, WebOrigin.init(_:)) }
        let texts = table.required("topics") { $0.strings($1) }
        let state = table.word("state", of: WindowRule.State.self) ?? .focused
        guard let origin, let texts else { return nil }
        if texts.isEmpty { table.note("topics", "at least one topic is allowed, such as \"/post\"") }
        let topics = texts.compactMap { text, offset -> TopicPrefix? in
            do throws(TopicError) {
                return TopicPrefix(try Topic(text))
            } catch {
                table.note(at: offset, "'topics': \(error)")
                return nil
            }
        }
        return PageRule(origin: origin, topics: topics, state: state == .focused ? .focused : .visible)
    }
}

/// A table `[[site]]` of browser.toml: what the pages of an address show.
package struct SiteRule: Sendable {
    package let address: AddressPattern
    package let topic: TopicPattern
    /// The least visibility that the tab must have: `.focused` or `.visible`.
    package let state: Screen.State

    /// The topic that a page shows; `nil` if its address does not fit, or gives no topic.
    func topic(of page: PageAddress) -> Topic? {
        // An active character would deceive who reads the topic.
        guard let captures = address.captures(of: page), let topic = try? self.topic.filled(with: captures),
            topic.isPlain
        else { return nil }
        return topic
    }
}

extension Topic {
    /// Whether it can be shown and sent as it is.
    var isPlain: Bool { description.fitsIntoMessage && !description.unicodeScalars.contains(where: \.isActive) }
}

/// A table `[[page]]` of browser.toml: what the pages of an origin may say by themselves.
package struct PageRule: Sendable {
    package let origin: WebOrigin
    /// They may name topics at or below these.
    package let topics: [TopicPrefix]
    /// The least visibility that the tab must have: `.focused` or `.visible`.
    package let state: Screen.State

    func allows(_ topic: Topic, from origin: WebOrigin) -> Bool {
        self.origin == origin && topics.contains { $0.covers(topic) }
    }
}

/// What rules have made of the pages that were looked at last: who goes back and forth between tabs has the same
/// addresses read again and again.
///
/// It has to be emptied when the rules change.
package struct PageCache {
    /// Pages that are kept. They are all forgotten when there would be more.
    static let limit = 64
    /// The longest address and topic that are kept, in bytes: so they need 64 KiB at most.
    static let longest = 512

    private struct Page {
        let said: String?
        let decision: TabDecision
    }

    private var pages: [ByteString: Page] = [:]

    package init() {}

    package var count: Int { pages.count }

    /// What a tab is a screen of, as `TabRules.decision` has it.
    package mutating func decision(for tab: Tab, by rules: TabRules) -> TabDecision {
        let address = ByteString(tab.address)
        if let page = pages[address], page.said?.bytes == tab.topic?.bytes { return page.decision.seen(in: tab) }
        let decision = rules.decision(address: tab.address, said: tab.topic)
        if tab.address.utf8.count <= Self.longest, tab.topic?.utf8.count ?? 0 <= Self.longest {
            if pages.count == Self.limit { empty() }
            pages[address] = Page(said: tab.topic, decision: decision)
        }
        return decision.seen(in: tab)
    }

    package mutating func empty() { pages = [:] }
}

/// The tab in front of a window, as the browser tells it.
package struct Tab: Equatable, Sendable {
    /// The browser's number of the tab.
    package var id: Int
    package var address: String
    /// The content of `<meta name="notifyd-topic">`, if the page has one.
    package var topic: String?
    /// Whether its window has the focus.
    package var isFocused: Bool
    /// Whether its window can be seen.
    package var isVisible: Bool

    package init(id: Int, address: String, topic: String? = nil, isFocused: Bool, isVisible: Bool) {
        self.id = id
        self.address = address
        self.topic = topic
        self.isFocused = isFocused
        self.isVisible = isVisible
    }

    /// Texts are equal if their bytes are.
    package static func == (left: Tab, right: Tab) -> Bool {
        left.id == right.id && left.address.hasBytes(of: right.address) && left.topic?.bytes == right.topic?.bytes
            && left.isFocused == right.isFocused && left.isVisible == right.isVisible
    }
}

/// What a tab is a screen of, and why.
package struct TabDecision: Equatable, Sendable {
    /// The rule by which a tab shows a topic.
    package enum Rule: Equatable, Sendable {
        /// A table `[[site]]` with this address.
        case site(address: String)
        /// A table `[[page]]` with this origin.
        case page(origin: WebOrigin)
    }

    /// What became of a topic that the page names by itself.
    package enum Request: Equatable, Sendable {
        case allowed
        /// No `[[page]]` of its origin has the topic.
        case forbidden(Topic, origin: WebOrigin)
        /// What it names is not a topic.
        case invalid
    }

    /// What the tab shows; `nil` if no rule fits.
    package internal(set) var topic: Topic?
    package internal(set) var rule: Rule?
    /// The least visibility that the tab must have.
    var needed = Screen.State.focused
    /// As which screen it is held; `nil` while the tab is not seen well enough for its rule.
    package internal(set) var state: Screen.State?
    /// `nil` if the page names none.
    package internal(set) var request: Request?

    /// Nothing.
    package init() {}
}
