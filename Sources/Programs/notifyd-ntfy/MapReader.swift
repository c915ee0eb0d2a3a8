import Mapping
import NotifyText
import TOMLTables

/// Reads the tables `[[server.map]]`.
struct MapReader {
    private(set) var inbound: [SubscribeMap] = []
    private(set) var outbound: [PublishMap] = []

    private enum Moment: String, CaseIterable {
        case always, away
    }

    private static let inboundKeys =
        ["subscribe", "topic", "title", "body", "clear", "images", "requests"] + MapRules.keys
    private static let outboundKeys = ["publish", "topics", "when", "after", "title", "message", "clear", "link"]

    /// - Returns: something, because `nil` would be a mistake without a note.
    mutating func read(from table: inout TableReader) -> Bool {
        if table.has("subscribe") == table.has("publish") {
            table.accept(Self.inboundKeys + Self.outboundKeys)
            table.note(
                "subscribe", "a map has either 'subscribe', for what comes in, or 'publish', for what goes out")
            return false
        }
        if table.has("subscribe") {
            if let map = readInbound(from: &table) { inbound.append(map) }
        } else if let map = readOutbound(from: &table) {
            outbound.append(map)
        }
        return true
    }

    private func readInbound(from table: inout TableReader) -> SubscribeMap? {
        let names = table.strings("subscribe")
        let topic = table.required("topic") {
            $0.parsed($1) { text throws(TopicError) in try TopicPattern(text) }
        }
        let title = Self.text("title", of: &table)
        let body = Self.text("body", of: &table)
        let rules = Self.rules(of: &table)
        let clears = table.boolean("clear") ?? true
        let hasImages = table.boolean("images") ?? false
        let makesRequests = table.boolean("requests") ?? true
        for key in Self.outboundKeys where !Self.inboundKeys.contains(key) {
            table.refuse(key, "'\(key)' belongs to what goes out, and 'subscribe' takes in")
        }
        for (name, offset) in names ?? [] {
            if !NtfyMessage.isName(name) {
                table.note(at: offset, "a topic at a server has 1 to 64 letters, digits, - and _")
            } else if inbound.contains(where: { $0.names.contains(name) })
                || (names ?? []).contains(where: { $0.text == name && $0.offset < offset })
            {
                table.note(at: offset, "\"\(name)\" is taken in already; each topic belongs to one map")
            } else if outbound.contains(where: { $0.name == name }) {
                table.note(at: offset, "\"\(name)\" is where events go out to; they do not come in again")
            }
        }
        if names?.isEmpty == true {
            table.note("subscribe", "'subscribe' has at least one topic of the server, such as [\"backups\"]")
        }
        for name in topic?.captureNames ?? [] where name != SubscribeMap.capture {
            table.note(
                "topic", "'topic' has {\(name)}; the only capture is {\(SubscribeMap.capture)}, the topic at the server"
            )
        }
        guard let names, let topic else { return nil }
        var map = SubscribeMap(names: names.map(\.text), topic: topic)
        (map.title, map.body, map.rules) = (title, body, rules)
        (map.clears, map.hasImages, map.makesRequests) = (clears, hasImages, makesRequests)
        return map
    }

    private static func rules(of table: inout TableReader) -> MapRules {
        var rules = MapRules { key, orBoolean in
            let read = table.conditions(key, orBoolean: orBoolean)
            note(SubscribeMap.unknown(read?.joined().map(\.member) ?? []), key, &table)
            return read
        }
        rules.collapse = table.member("collapse")
        note(SubscribeMap.unknown(rules.collapse.map { [$0] } ?? []), "collapse", &table)
        rules.urgency = text("urgency", of: &table, MessageUrgency.template)
        return rules
    }

    /// A text whose names are those of a message.
    private static func text(
        _ key: String, of table: inout TableReader,
        _ parse: (String) throws(MapError) -> MessageTemplate = MessageTemplate.init
    ) -> MessageTemplate? {
        guard let text = table.parsed(key, parse) else { return nil }
        let unknown = SubscribeMap.unknownNames(in: text)
        note(unknown.map { "{{\($0)}}" }, key, &table)
        return unknown.isEmpty ? text : nil
    }

    private static func note(_ unknown: [String], _ key: String, _ table: inout TableReader) {
        guard !unknown.isEmpty else { return }
        let names = SubscribeMap.names.joined(separator: ", ")
        table.note(
            key,
            "'\(key)' has \(unknown.joined(separator: ", ")); the names are \(names), and \(SubscribeMap.openName).… "
                + "for members of the message")
    }

    private func readOutbound(from table: inout TableReader) -> PublishMap? {
        let name = table.string("publish")
        let topics = table.required("topics") { $0.parsed(all: $1, TopicPrefix.init) }
        let moment = table.word("when", of: Moment.self) ?? .away
        let after = table.duration("after", upTo: .seconds(24 * 3600), from: .seconds(1))
        let title = table.parsed("title", MessageTemplate.init)
        let message = table.parsed("message", MessageTemplate.init)
        let clears = table.boolean("clear") ?? true
        let isLinked = table.boolean("link") ?? false
        for key in Self.inboundKeys where !Self.outboundKeys.contains(key) {
            table.refuse(key, "'\(key)' belongs to what comes in, and 'publish' sends out")
        }
        if moment == .always { table.refuse("after", "'after' belongs to when = \"away\"") }
        if topics?.isEmpty == true { table.note("topics", "at least one topic goes out, such as \"/run\"") }
        guard let name, let topics else { return nil }
        guard NtfyMessage.isName(name) else {
            table.note("publish", "'publish' must be a topic at the server: 1 to 64 letters, digits, - and _")
            return nil
        }
        if inbound.contains(where: { $0.names.contains(name) }) {
            table.note("publish", "\"\(name)\" is taken in by another map; what goes out does not come in again")
        }
        if outbound.contains(where: { $0.name == name }) {
            table.note("publish", "\"\(name)\" has a map already; its 'topics' can have several topics")
        }
        var map = PublishMap(
            name: name, topics: topics,
            moment: moment == .always ? .always : .away(after: after ?? NtfySettings.usualDelay))
        (map.title, map.message, map.clears, map.isLinked) = (title, message, clears, isLinked)
        return map
    }
}
