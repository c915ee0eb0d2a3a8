import NotifyText
import Routing

/// Topics, prefixes, patterns and durations: what is read is what is printed, and what is a topic can go into a match
/// rule.
public func fuzzTopic(_ bytes: [UInt8]) {
    var choices = Choices(bytes)
    let first = String(decoding: choices.bytes(), as: UTF8.self)
    let second = String(decoding: choices.rest(), as: UTF8.self)
    let topics = [first, second].compactMap { checkTopic($0) }
    let patterns = [first, second].compactMap { checkPattern($0) }
    for topic in topics {
        for other in topics { checkPrefix(topic, other) }
        for pattern in patterns { checkMatch(pattern, topic) }
    }
    checkRoutes(patterns, topics)
    checkDuration(second)
}

private func checkTopic(_ text: String) -> Topic? {
    guard let topic = try? Topic(text) else { return nil }
    precondition(topic.description.hasBytes(of: text), "a topic is printed as it was written")
    let again = try? Topic(topic.description)
    precondition(again == topic, "a printed topic is read as the same")
    precondition(again.hashValue == Optional(topic).hashValue, "the same topics have the same hash")
    precondition(
        ("/" + topic.segments.joined(separator: "/")).hasBytes(of: text), "a topic is made of its segments")
    precondition(text.utf8.count <= 255 && (1...16).contains(topic.segments.count), "a topic keeps to its limits")
    precondition(topic.segments.allSatisfy { (1...64).contains($0.utf8.count) }, "a segment keeps to its limits")
    precondition(
        !text.utf8.contains { "'\\{}*".utf8.contains($0) || $0 < 0x20 }, "a topic can be quoted in a match rule")
    return topic
}

private func checkPattern(_ text: String) -> TopicPattern? {
    guard let pattern = try? TopicPattern(text, allowsBelow: true) else { return nil }
    precondition(pattern.description.hasBytes(of: text), "a pattern is printed as it was written")
    precondition(
        (try? TopicPattern(pattern.description, allowsBelow: true)) == pattern, "a printed pattern is read as the same")
    precondition(Set(pattern.captureNames).count == pattern.captureNames.count, "captures have names of their own")
    return pattern
}

private func checkPrefix(_ topic: Topic, _ other: Topic) {
    let prefix = TopicPrefix(topic)
    precondition((try? TopicPrefix(prefix.description)) == prefix, "a printed prefix is read as the same")
    precondition(TopicPrefix.all.covers(other) && prefix.covers(topic), "a prefix covers itself")
    let isAtOrBelow = topic == other || other.description.utf8.starts(with: (topic.description + "/").utf8)
    precondition(prefix.covers(other) == isAtOrBelow, "a prefix covers what is at or below it")
}

/// A pattern matches just what it becomes when its captures are filled in, or what is below that.
private func checkMatch(_ pattern: TopicPattern, _ topic: Topic) {
    guard let captures = pattern.captures(of: topic) else { return }
    precondition(captures.map(\.name) == pattern.captureNames, "every capture has a value")
    var values = captures.map(\.value)[...]
    let parts = pattern.description.utf8.split(separator: UInt8(ascii: "/"))
    let filled = (pattern.includesBelow ? parts.dropLast() : parts).map { part in
        part.first == UInt8(ascii: "{") ? values.removeFirst() : String(Substring(part))
    }
    let top = filled.map { "/" + $0 }.joined()
    precondition(
        top.hasBytes(of: topic.description)
            || pattern.includesBelow && topic.description.utf8.starts(with: (top + "/").utf8),
        "a match says what was matched")
}

private func checkRoutes(_ patterns: [TopicPattern], _ topics: [Topic]) {
    var table = RouteTable(fallback: Route(pattern: nil, window: .zero))
    for pattern in patterns { table.add(Route(pattern: pattern, window: .zero)) }
    for topic in topics {
        let found = table.route(for: topic).pattern
        let matching = table.routes.compactMap(\.pattern).filter { $0.captures(of: topic) != nil }
        precondition((found != nil) == !matching.isEmpty, "a route is found just where one matches")
        if let found { precondition(matching.contains(found), "the route that is found matches") }
    }
}

private func checkDuration(_ text: String) {
    guard let duration = Duration(text: text) else { return }
    precondition(Duration(text: duration.text) == duration, "a printed duration is read as the same")
}
