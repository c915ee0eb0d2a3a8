import Routing
package import TOMLTables

extension TabRules {
    /// Rules of each kind in a file.
    private static let maximum = 256

    private enum State: String, CaseIterable {
        case focused, visible

        var screenState: Screen.State { self == .focused ? .focused : .visible }
    }

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
        let state = table.word("state", of: State.self) ?? .focused
        guard let address, let topic else { return nil }
        let names = Set(address.captureNames)
        for name in topic.captureNames where !names.contains(name) {
            table.note("topic", "'topic' has {\(name)}, and 'address' has not")
        }
        return SiteRule(address: address, topic: topic, state: state.screenState)
    }

    private static func readPage(_ table: inout TableReader) -> PageRule? {
        let origin = table.required("origin") { $0.parsed($1, WebOrigin.init(_:)) }
        let texts = table.required("topics") { $0.strings($1) }
        let state = table.word("state", of: State.self) ?? .focused
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
        return PageRule(origin: origin, topics: topics, state: state.screenState)
    }
}
