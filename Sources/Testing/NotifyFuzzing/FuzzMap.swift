import Mapping
import Routing

/// A message of a stranger on the broker, and the texts of a map. The first line is a filter, the second one the topic
/// of the message, the third one a template, and the rest the message.
public func fuzzMap(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 4 else { return }
    let texts = parts.prefix(3).map { String(decoding: $0, as: UTF8.self) }
    let template = try? MessageTemplate(texts[2])
    let room = try! LevelPattern("home/{room}/#")
    for filter in [try? LevelPattern(texts[0]), room].compactMap({ $0 }) {
        precondition(filter.overlaps(filter), "a filter has topics in common with itself")
        guard let captures = filter.captures(of: texts[1]) else { continue }
        precondition(captures.map(\.name) == filter.names, "all captures are captured")
        // Names may be too long for a topic.
        guard let pattern = try? TopicPattern("/a" + filter.names.map { "/{\($0)}" }.joined()) else { continue }
        var rules = MapRules()
        rules.except = [[.init(["type"], ["update", ""]), .init(["after", "label"], ["*"])]]
        rules.silent = [[.init(["payload"], ["off"])]]
        rules.collapse = ["after", "id"]
        rules.urgency = template
        for isRetained in [true, false] {
            let map = InboundMap(
                filter: filter, topic: pattern, title: template, body: nil, isRetained: isRetained, id: ["id"],
                rules: rules)
            guard case .event(let event) = try? map.result(of: Array(parts[3]), at: texts[1]) else { continue }
            precondition(event.title.utf8.count <= 1024 && event.body.utf8.count <= 8192, "texts have limits")
            precondition(event.collapse?.utf8.count ?? 1 <= 256 && event.collapse != "", "and so has what collapses")
            precondition(event.id?.utf8.count ?? 1 <= 255 && event.id != "", "ids have limits")
        }
    }
}
