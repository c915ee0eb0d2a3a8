import Routing

/// The rules of browser.toml, and what they make of tabs.
package struct TabRules: Sendable {
    package var sites: [SiteRule] = []
    package var pages: [PageRule] = []

    /// No rules: no tab is a screen.
    package init() {}

    /// What a tab is a screen of. What a page may say by itself goes before the rules for its address, the first of which that
    /// fits counts.
    package func decision(for tab: Tab) -> TabDecision {
        var decision = TabDecision()
        guard let page = PageAddress(tab.address) else { return decision }
        if let text = tab.topic {
            if let topic = try? Topic(text), topic.isPlain {
                if let rule = pages.first(where: { $0.allows(topic, from: page.origin) }) {
                    decision.request = .allowed
                    decision.take(topic, .page(origin: rule.origin), tab.state(for: rule.state))
                    return decision
                }
                decision.request = .forbidden(topic, origin: page.origin)
            } else {
                decision.request = .invalid
            }
        }
        for rule in sites {
            guard let topic = rule.topic(of: page) else { continue }
            decision.take(topic, .site(address: rule.address.description), tab.state(for: rule.state))
            break
        }
        return decision
    }
}

extension TabDecision {
    fileprivate mutating func take(_ topic: Topic, _ rule: Rule, _ state: Screen.State?) {
        self.topic = topic
        self.rule = rule
        self.state = state
    }
}

extension Tab {
    /// As which screen a rule holds the tab; `nil` while it is not seen well enough.
    fileprivate func state(for needed: Screen.State) -> Screen.State? {
        if isFocused { return .focused }
        return isVisible && needed == .visible ? .visible : nil
    }
}
