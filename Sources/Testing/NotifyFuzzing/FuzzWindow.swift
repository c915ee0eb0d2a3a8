import NotifyText
import Routing
import TOMLTables
import Watching

/// A rule and a window: the first line is a regular expression, the second a topic, and the rest the title of a window.
/// All of it is read as a configuration, too.
public func fuzzWindow(_ bytes: [UInt8]) {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
    let title = lines.count == 3 ? lines[2] : lines[0]
    let window = Window(id: 1, number: 4711, app: "Firefox", title: title, isFocused: true)
    precondition(window.title.unicodeScalars.count <= max(title.utf8.count, Window.longestTitle), "a title is cut")
    check(rules, window)
    if lines.count == 3, let pattern = try? Pattern(lines[0]) {
        if case .match(let captures) = pattern.match(window.title) {
            precondition(captures.keys.allSatisfy(pattern.captureNames.contains), "what is captured has a name")
            precondition(
                captures.values.allSatisfy { window.title.utf8.contains(Array($0.utf8)) },
                "a capture is a part of the title")
        }
        if let topic = try? TopicPattern(lines[1]) {
            check(WindowRules([WindowRule(app: nil, title: pattern, topic: topic)]), window)
        }
    }
    if let read = try? WindowRules.parse(String(decoding: bytes, as: UTF8.self), file: "focus.toml") {
        check(read, window)
    }
}

private let rules = try! WindowRules.parse(
    #"""
    [[screen]]
    app = "firefox"
    title = '^Post (?<id>[0-9]+) '
    topic = "/post/{id}"

    [[screen]]
    title = '^(?:\(\d+\) )?(?<room>\w+)(?: \| (?<team>.+?))?$'
    topic = "/chat/{team}/{room}"

    [[screen]]
    app = "firefox"
    topic = "/window/{window}"
    """#, file: "focus.toml")

private func check(_ rules: WindowRules, _ window: Window) {
    var rules = rules
    let wanted = rules.screens(of: [window])
    precondition(wanted == rules.screens(of: [window]), "what is remembered is what was found")
    precondition(wanted.count <= 1, "a window has one screen at most")
    for screen in wanted {
        precondition(screen.isFocused && screen.topic.description.fitsIntoMessage, "the bus takes every topic")
        precondition((try? Topic(screen.topic.description)) == screen.topic, "a printed topic is read as the same")
        let rule = rules.fit(window).map { rules.rules[$0.rule] }
        precondition(
            rule?.topic.description.utf8.split(separator: UInt8(ascii: "/")).count == screen.topic.segments.count,
            "a capture is one segment")
    }
}
