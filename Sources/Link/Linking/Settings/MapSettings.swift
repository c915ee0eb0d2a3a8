public import Mapping
import NotifyText
import TOMLTables

/// The tables `[[map]]` of `mqtt.toml`; notifyd-mqtt.toml(5).
public struct MapSettings: Equatable, Sendable {
    public var inbound: [InboundMap] = []
    public var outbound: [OutboundMap] = []

    public var isEmpty: Bool { inbound.isEmpty && outbound.isEmpty }

    /// What is subscribed to at the broker. A filter within another one is not: some brokers send a message once for
    /// each filter.
    public var subscriptions: [String] {
        inbound.map(\.filter).filter { filter in !inbound.contains { $0.filter != filter && $0.filter.covers(filter) } }
            .map(\.filter)
    }

    /// The place in `inbound` of the map for messages at a topic: of several, that with the most specific filter.
    public func index(ofMapFor topic: String) -> Int? {
        inbound.indices.filter { inbound[$0].filter.captures(of: topic) != nil }
            .min { inbound[$1].filter.covers(inbound[$0].filter) }
    }

    /// Maps in a file.
    static let maximumMaps = 64
    /// The topics of the link itself.
    private static let ownTopics = try! LevelPattern("notifyd/1/#")

    static func read(from root: inout TableReader) -> MapSettings {
        var maps = MapSettings()
        _ = root.tables("map", upTo: maximumMaps) { table in
            let isOut = table.has("publish")
            if isOut == table.has("filter") {
                table.note(
                    "filter", "a map has either 'filter', for what comes in, or 'publish', for what goes out")
                return false
            }
            if isOut {
                if let map = maps.readOutbound(from: &table) { maps.outbound.append(map) }
            } else {
                if let map = maps.readInbound(from: &table) { maps.inbound.append(map) }
            }
            return true
        }
        return maps
    }

    // MARK: In

    private func readInbound(from table: inout TableReader) -> InboundMap? {
        let filter = table.parsed("filter", LevelPattern.init)
        let topic = table.required("topic") {
            $0.parsed($1) { text throws(TopicError) in try TopicPattern(text) }
        }
        let title = table.parsed("title", MessageTemplate.init)
        let body = table.parsed("body", MessageTemplate.init)
        let isRetained = table.boolean("retain") ?? false
        let id = table.member("id")
        var rules = MapRules { table.conditions($0, orBoolean: $1) }
        rules.collapse = table.member("collapse")
        rules.urgency = table.parsed("urgency", MessageUrgency.template)
        let isLinked = table.boolean("link") ?? false
        for key in ["publish", "topics", "payload"] {
            table.refuse(key, "'\(key)' belongs to what goes out, and 'filter' takes in")
        }
        guard let filter, let topic else { return nil }
        for name in topic.captureNames where !filter.names.contains(name) {
            table.note("topic", "'topic' has {\(name)}, and 'filter' has not")
        }
        check(filter, "filter", &table)
        return InboundMap(
            filter: filter, topic: topic, title: title, body: body, isRetained: isRetained, id: id,
            rules: rules, isLinked: isLinked)
    }

    // MARK: Out

    private func readOutbound(from table: inout TableReader) -> OutboundMap? {
        let address = table.parsed("publish", LevelPattern.init)
        let topics = table.required("topics") { $0.parsed(all: $1, TopicPrefix.init) }
        let payload = table.parsed("payload", MessageTemplate.init)
        let isRetained = table.boolean("retain") ?? false
        let isLinked = table.boolean("link") ?? false
        for key in ["filter", "topic", "title", "body", "id"] + MapRules.keys {
            table.refuse(key, "'\(key)' belongs to what comes in, and 'publish' sends out")
        }
        if topics?.isEmpty == true { table.note("topics", "at least one topic goes out, such as \"/run\"") }
        guard let address, let topics else { return nil }
        guard address.isTopic else {
            table.note("publish", "'publish' is one topic on the broker, without +, # and captures")
            return nil
        }
        check(address, "publish", &table)
        return OutboundMap(
            address: address.filter, topics: topics, payload: payload, isRetained: isRetained, isLinked: isLinked)
    }

    /// What goes out does not come in again, no message comes in twice, and nobody mistakes the link for something
    /// else.
    private func check(_ pattern: LevelPattern, _ key: String, _ table: inout TableReader) {
        if pattern.overlaps(Self.ownTopics) {
            table.note(key, "'\(key)' has topics of the link itself, notifyd/1/…; name a first level of others")
        }
        guard key == "filter" else {
            if let other = inbound.first(where: { $0.filter.overlaps(pattern) }) {
                table.note(key, "'\(key)' has topics that \"\(other.filter)\" takes in already")
            }
            return
        }
        for other in inbound.map(\.filter) where other.overlaps(pattern) {
            if other.filter == pattern.filter {
                table.note(key, "'\(key)' has the topics of \"\(other)\"; each filter belongs to one map")
            } else if !other.covers(pattern), !pattern.covers(other) {
                table.note(
                    key,
                    "'\(key)' has some topics of \"\(other)\" and not all; of two filters with topics in common, one "
                        + "must have all topics of the other")
            }
        }
        for other in outbound {
            if let address = try? LevelPattern(other.address), pattern.overlaps(address) {
                table.note(key, "'filter' would take in what goes out at \"\(other.address)\"")
            }
        }
    }
}
