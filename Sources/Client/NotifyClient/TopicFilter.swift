internal import NotifyText

/// The filter “at or below this topic”, as match rules for the bus and as a predicate.
///
/// It takes two match rules: `arg0='/post'` matches the topic itself, `arg0path='/post/'` the topics below it. `/`
/// alone stands for every topic.
package struct TopicFilter: Sendable {
    let topic: String

    /// - Throws: `invalidArgument`, with the reason why the text is not a topic.
    init(_ text: String) throws(NotifyError) {
        topic = text
        try Self.requireSlash(text)
        do { _ = try TopicPrefix(text) } catch { throw .notATopic(text, error.reason) }
        if let fault = UnsendableCharacter(in: text) { throw .notATopic(text, fault.description) }
    }

    /// - Throws: `invalidArgument` if the text does not start with a slash, the usual mistake.
    package static func requireSlash(_ text: String) throws(NotifyError) {
        guard !text.isEmpty else { throw .notATopic(text, "it is empty") }
        guard text.utf8.first == UInt8(ascii: "/") else { throw .notATopic(text, "it does not start with '/'") }
    }

    func covers(_ other: String) -> Bool { Self.covers(topic, other) }

    /// Whether a topic covers another one; it need not be valid.
    static func covers(_ topic: String, _ other: String) -> Bool {
        if topic == "/" { return true }
        let (own, other) = (topic.utf8, other.utf8)
        guard other.starts(with: own) else { return false }
        return other.count == own.count || other.dropFirst(own.count).first == UInt8(ascii: "/")
    }

    /// The match rules for one of the daemon's signals.
    func rules(member: String) -> [MatchRule] {
        func rule(argument0: String? = nil, argument0Path: String? = nil) -> MatchRule {
            MatchRule(
                sender: Router.name, interface: Router.interface, member: member,
                argument0: argument0, argument0Path: argument0Path)
        }
        if topic == "/" { return [rule()] }
        return [rule(argument0: topic), rule(argument0Path: topic + "/")]
    }
}

extension NotifyError {
    static func notATopic(_ text: String, _ why: String) -> NotifyError {
        NotifyError(.invalidArgument, "“\(text)” is not a topic: \(why). A topic looks like /post/27.")
    }
}

extension [TopicFilter] {
    func cover(_ topic: String) -> Bool { contains { $0.covers(topic) } }
}

extension TopicFilter {
    /// - Throws: `invalidArgument` when there is no topic, or one is invalid.
    static func list(_ topics: [String]) throws(NotifyError) -> [TopicFilter] {
        var filters: [TopicFilter] = []
        for topic in topics {
            let filter = try TopicFilter(topic)
            if !filters.contains(where: { $0.topic.bytes == filter.topic.bytes }) { filters.append(filter) }
        }
        guard !filters.isEmpty else { throw NotifyError(.invalidArgument, "No topic was given. Every topic is “/”.") }
        return filters
    }

    /// The lowest topic that everything these filters cover is at or below.
    static func ancestor(of filters: [TopicFilter]) -> String {
        let slash = UInt8(ascii: "/")
        let paths = filters.map { $0.topic.utf8.split(separator: slash).map(Array.init) }
        guard var common = paths.first else { return "/" }
        for path in paths.dropFirst() {
            let shared = zip(common, path).prefix { $0 == $1 }.count
            common = Array(common.prefix(shared))
        }
        return common.isEmpty ? "/" : common.map { "/" + String(decoding: $0, as: UTF8.self) }.joined()
    }
}

/// The daemon's address on the bus.
package enum Router {
    package static let name = "org.notifyd.Router1"
    package static let path = "/org/notifyd/Router1"
    package static let interface = "org.notifyd.Router1"
}
