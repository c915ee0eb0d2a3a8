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
        fit(address: tab.address, said: tab.topic).decision(for: tab)
    }

    /// What a page is a screen of, however well it is seen.
    ///
    /// - Parameter said: what it names by itself.
    func fit(address: String, said: String?) -> PageFit {
        var fit = PageFit()
        guard let page = PageAddress(address) else { return fit }
        if let said {
            if let topic = try? Topic(said), topic.isPlain {
                if let rule = pages.first(where: { $0.allows(topic, from: page.origin) }) {
                    fit.decision.request = .allowed
                    fit.take(topic, .page(origin: rule.origin), rule.state)
                    return fit
                }
                fit.decision.request = .forbidden(topic, origin: page.origin)
            } else {
                fit.decision.request = .invalid
            }
        }
        for rule in sites {
            guard let topic = rule.topic(of: page) else { continue }
            fit.take(topic, .site(address: rule.address.description), rule.state)
            break
        }
        return fit
    }
}

/// What rules make of a page.
struct PageFit: Sendable {
    /// With no state.
    fileprivate(set) var decision = TabDecision()
    /// How well the tab has to be seen.
    private var needed = Screen.State.focused

    fileprivate mutating func take(_ topic: Topic, _ rule: TabDecision.Rule, _ needed: Screen.State) {
        decision.topic = topic
        decision.rule = rule
        self.needed = needed
    }

    /// With the state of a tab that shows the page.
    func decision(for tab: Tab) -> TabDecision {
        guard decision.topic != nil else { return decision }
        var decision = decision
        decision.state = tab.state(for: needed)
        return decision
    }
}

extension Tab {
    /// As which screen a rule holds the tab; `nil` while it is not seen well enough.
    fileprivate func state(for needed: Screen.State) -> Screen.State? {
        if isFocused { return .focused }
        return isVisible && needed == .visible ? .visible : nil
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
    /// How well the tab has to be seen: `.focused` or `.visible`.
    package let state: Screen.State

    /// The topic that a page shows; `nil` if its address does not fit, or gives no topic.
    func topic(of page: PageAddress) -> Topic? {
        // An active character would deceive who reads the topic.
        guard let topic = address.captures(of: page).flatMap(self.topic.filled), topic.isPlain else { return nil }
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
    /// How well the tab has to be seen: `.focused` or `.visible`.
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
        let fit: PageFit
    }

    private var pages: [ByteString: Page] = [:]

    package init() {}

    package var count: Int { pages.count }

    /// What a tab is a screen of, as `TabRules.decision` has it.
    package mutating func decision(for tab: Tab, by rules: TabRules) -> TabDecision {
        let address = ByteString(tab.address)
        if let page = pages[address], page.said?.bytes == tab.topic?.bytes { return page.fit.decision(for: tab) }
        let fit = rules.fit(address: tab.address, said: tab.topic)
        if tab.address.utf8.count <= Self.longest, tab.topic?.utf8.count ?? 0 <= Self.longest {
            if pages.count == Self.limit { empty() }
            pages[address] = Page(said: tab.topic, fit: fit)
        }
        return fit.decision(for: tab)
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
    /// As which screen it is held; `nil` while the tab is not seen well enough for its rule.
    package internal(set) var state: Screen.State?
    /// `nil` if the page names none.
    package internal(set) var request: Request?

    /// Nothing.
    package init() {}
}
