import Routing

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
