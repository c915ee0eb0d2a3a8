import Testing
import Watching

@testable import notifyctl

/// The rules that `notifyctl focus --learn` writes.
struct LearnedRuleTests {
    private func title(_ title: String, _ topic: String = "/post/{id}") throws -> (line: String, topic: String?) {
        let window = Window(id: 1, app: "Firefox", instance: "", title: title)
        let rule = try LearnedRule(for: window, topic: topic, state: nil, withTitle: false)
        var rules = try WindowRules.parse(rule.text, file: "focus.toml")
        let fit = rules.fit(window)
        let line = rule.text.split(separator: "\n").first { $0.hasPrefix("title") }
        return (String(line ?? ""), fit?.topic.map { "\($0)" })
    }

    @Test(arguments: [
        ("Post 27 - Board", #"title = "^Post (?<id>[0-9]+) ""#, "/post/27"),
        ("(3) Post 27 - Board", #"title = "^(?:\\([0-9+]+\\)\\s*)?Post (?<id>[0-9]+) ""#, "/post/27"),
        ("(99+) Post 27", #"title = "^(?:\\([0-9+]+\\)\\s*)?Post (?<id>[0-9]+)$""#, "/post/27"),
        ("Writer 7.4.1: Post 27", #"title = "^Writer [0-9.]+: Post (?<id>[0-9]+)$""#, "/post/27"),
        ("Writer 7.4", #"title = "^Writer (?<id>[0-9]+)\\.""#, "/post/7"),
        ("27", #"title = "^(?<id>[0-9]+)$""#, "/post/27"),
        ("Board: #größe (3)", ##"title = "#(?<id>[\\w-]+)""##, "/post/größe"),
        ("Post #27", ##"title = "^Post #(?<id>[0-9]+)$""##, "/post/27"),
    ])
    func theNumberOrTheRoomOfTheTitleIsTaken(_ text: String, _ line: String, _ topic: String) throws {
        let learned = try title(text)
        #expect(learned.line == line && learned.topic == topic)
    }

    @Test func aRuleThatWasLearnedWithACounterFitsWithoutIt() throws {
        let window = Window(id: 1, app: "Firefox", instance: "", title: "(3) Post 27")
        let rule = try LearnedRule(for: window, topic: "/post/{id}", state: nil, withTitle: false)
        var rules = try WindowRules.parse(rule.text, file: "focus.toml")
        let fit = rules.fit(Window(id: 1, app: "Firefox", instance: "", title: "Post 28"))
        #expect(fit?.topic.map { "\($0)" } == "/post/28")
    }

    @Test(arguments: ["Lounge", "(3) Lounge"]) func aTitleWithoutEitherGivesNone(_ text: String) {
        #expect(throws: (any Error).self) { try title(text) }
    }
}
