import NotifyText

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
