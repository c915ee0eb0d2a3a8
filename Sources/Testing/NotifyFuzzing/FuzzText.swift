import Foundation
import FoundationXML
import NotifyDaemon
import NotifyText
import Routing
import TOMLTables

/// Text for banners. What a notification server reads as markup has no element in it, and says what was to be said; and
/// whatever is accepted as a template can be rendered.
public func fuzzText(_ bytes: [UInt8]) {
    var choices = Choices(bytes)
    let values: [ByteString: String] = ["title": choices.text(), "from": choices.text()]
    let template = choices.text()
    let text = String(decoding: choices.rest(), as: UTF8.self)
    check(text)
    guard let template = try? TextTemplate(template, names: ["from"]) else { return }
    check(template.render(values))
    check(template.render([:]))
}

private func check(_ text: String) {
    for lineBreaks in [false, true] {
        let cleaned = SafeText.cleaned(text, lineBreaks: lineBreaks)
        precondition(SafeText.cleaned(cleaned, lineBreaks: lineBreaks).hasBytes(of: cleaned), "clean text stays")
        precondition(
            cleaned.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || lineBreaks && $0 == 0x0A }, "no control is left")
        let reading = Reading()
        let parser = XMLParser(data: Data(("<b>" + cleaned.escapedMarkup + "</b>").utf8))
        parser.delegate = reading
        precondition(parser.parse(), "escaped text is well-formed")
        precondition(reading.elements == 1, "escaped text has no element")
        precondition(reading.text.hasBytes(of: cleaned), "escaped text says what was to be said")
    }
}

private final class Reading: NSObject, XMLParserDelegate {
    var elements = 0
    var text = ""

    func parser(
        _: XMLParser, didStartElement _: String, namespaceURI _: String?, qualifiedName _: String?,
        attributes _: [String: String]
    ) {
        elements += 1
    }

    func parser(_: XMLParser, foundCharacters string: String) {
        text += string
    }
}

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

/// A configuration file: it is taken, or refused with a place that is in it.
public func fuzzConfiguration(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    do throws(ConfigurationError) {
        var reader = ConfigurationReader()
        reader.add(file: "fuzz.toml", text: text)
        let configuration = try reader.finish()
        precondition(!text.utf8.contains(0), "nothing behind a NUL is overlooked")
        for route in configuration.routes.routes { checkTemplates(of: route) }
    } catch {
        precondition(!error.mistakes.isEmpty && error.mistakes.count <= error.count, "a refusal has a reason")
        // Not its characters: to Swift, the line end of other systems is one, and not this one.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for mistake in error.mistakes {
            precondition(!mistake.reason.isEmpty && mistake.file == "fuzz.toml", "a mistake says where and why")
            precondition((1...lines.count).contains(mistake.line), "the line is one of the file")
            let length = lines[mistake.line - 1].count
            precondition((1...length + 1).contains(mistake.column), "the column is one of the line")
        }
    }
}

/// Whatever template was accepted can be rendered.
private func checkTemplates(of route: Route) {
    guard let topic = try? Topic(sample(of: route.pattern)) else { return }
    let event = Event(
        id: EventID(1), topic: topic, title: "title", body: "", fields: [], published: 0, sender: ":1.1",
        origin: Origin(), urgency: nil, retained: false, route: route)
    let request = BannerRequest(call: BannerCall(1), replaces: nil, newest: event, count: 2, isSummary: false)
    let text = BannerText(request)
    precondition(!text.title.isEmpty, "a banner has a title")
}

/// A topic that a pattern matches.
private func sample(of pattern: TopicPattern?) -> String {
    let segments = pattern?.description.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) } ?? ["a"]
    return "/" + segments.map { $0.hasPrefix("{") || $0 == "**" ? "1" : $0 }.joined(separator: "/")
}
