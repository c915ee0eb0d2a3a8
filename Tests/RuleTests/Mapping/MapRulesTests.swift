import Mapping
import Routing
import Testing

struct MapRulesTests {
    private func rules(_ change: (inout MapRules) throws -> Void) rethrows -> MapRules {
        var rules = MapRules()
        try change(&rules)
        return rules
    }

    private func result(
        _ rules: MapRules, _ text: String, title: String? = "{{topic}}", retain: Bool = false
    ) throws -> InboundMap.Result {
        let map = InboundMap(
            filter: try LevelPattern("frigate/{what}"), topic: try TopicPattern("/camera/{what}"),
            title: try title.map(MessageTemplate.init), isRetained: retain, rules: rules)
        return try map.result(of: Array(text.utf8), at: "frigate/events")
    }

    private func event(_ rules: MapRules, _ text: String, title: String? = "{{topic}}") throws -> MappedEvent? {
        if case .event(let event) = try result(rules, text, title: title) { event } else { nil }
    }

    /// As in `frigate/events`.
    private func message(_ type: String, label: String = "\"person\"", zones: String = "[\"yard\"]") -> String {
        """
        {"type": "\(type)", "after": {"id": "1607123955.475377-mxklsc", "camera": "front_door", "label": \(label),
         "sub_label": null, "false_positive": false, "entered_zones": \(zones), "score": 0.79, "count": 3}}
        """
    }

    @Test(
        arguments: [
            (["type"], ["new"], true), (["type"], ["update", "new"], true), (["type"], ["update"], false),
            (["after", "false_positive"], ["false"], true), (["after", "count"], ["3"], true),
            (["after", "sub_label"], [""], true), (["after", "sub_label"], ["*"], false),
            (["after", "none"], [""], true),
            (["after", "id"], ["*"], true), (["none", "id"], ["*"], false),
            (["after", "entered_zones"], ["yard"], true),
            (["after", "entered_zones"], ["street"], false), (["what"], ["events"], true), (["topic"], ["*"], true),
        ] as [([String], [String], Bool)])
    func aConditionComparesAMember(_ member: [String], _ values: [String], _ holds: Bool) throws {
        let only = rules { $0.only = [[.init(member, values)]] }
        #expect(try (event(only, message("new")) != nil) == holds)
        let except = rules { $0.except = [[.init(member, values)]] }
        #expect(try (event(except, message("new")) != nil) == !holds)
        let banner = rules { $0.banner = [[.init(member, values)]] }
        #expect(try event(banner, message("new"))?.isSilent == !holds)
        let silent = rules { $0.silent = [[.init(member, values)]] }
        #expect(try event(silent, message("new"))?.isSilent == holds)
    }

    @Test func allConditionsOfATableHoldAndOneTableOfAList() throws {
        let new = MapRules.Condition(["type"], ["new"])
        let car = MapRules.Condition(["after", "label"], ["car"])
        #expect(try event(rules { $0.only = [[new, car]] }, message("new")) == nil)
        #expect(try event(rules { $0.only = [[car], [new]] }, message("new")) != nil)
        #expect(try event(rules { $0.banner = [] }, message("new"))?.isSilent == true)
        #expect(try event(rules { $0.banner = [[]] }, message("new"))?.isSilent == false)
    }

    /// The end of an object at a camera takes back what was said of it.
    @Test func anEndHasTheCollapseOfWhatItEnds() throws {
        let rules = rules {
            $0.except = [[.init(["type"], ["update"])]]
            $0.silent = [[.init(["type"], ["end"])]]
            $0.collapse = ["after", "id"]
        }
        let begin = try #require(try event(rules, message("new")))
        let end = try #require(try event(rules, message("end")))
        #expect(begin.collapse == "1607123955.475377-mxklsc" && !begin.isSilent)
        #expect(end.collapse == begin.collapse && end.topic == begin.topic && end.isSilent)
        #expect(try event(rules, message("update")) == nil)
    }

    /// What conditions name need not be there, in messages that are not JSON too; what texts name has to be.
    @Test func aMessageWithoutTheMembersOfConditionsIsNoMistake() throws {
        let only = rules { $0.only = [[.init(["type"], ["new"])]] }
        let silent = rules { $0.silent = [[.init(["type"], ["end"])]] }
        for text in ["online", "[1]", ""] { #expect(try result(only, text) == .nothing) }
        #expect(try event(silent, "online")?.isSilent == false)
        #expect(try result(only, "rubbish", title: "{{after.label}}") == .nothing)
        #expect(throws: MapError.self) { try result(silent, "rubbish", title: "{{after.label}}") }
        #expect(try result(only, "", retain: true) == .removal(Topic("/camera/events")))
    }

    @Test(
        arguments: [
            ("low", 0), ("normal", 1), ("critical", 2), ("high", 2), ("very-low", 0), ("warning", nil), ("", nil),
        ] as [(String, UInt8?)])
    func anUrgencyIsAWordOfTheMessage(_ word: String, _ urgency: UInt8?) throws {
        let rules = try rules { $0.urgency = try MessageUrgency.template("{{severity}}") }
        #expect(try event(rules, "{\"severity\": \"\(word)\"}")?.urgency == urgency)
        let leak = try self.rules {
            $0.urgency = try MessageUrgency.template("{{#water_leak}}critical{{/water_leak}}")
        }
        #expect(try event(leak, #"{"water_leak": true}"#)?.urgency == 2)
        #expect(try event(leak, #"{"water_leak": false}"#)?.urgency == nil)
        #expect(throws: MapError.self) { try MessageUrgency.template("warning") }
    }

    @Test func aLongCollapseIsShortenedAndStaysItsOwn() throws {
        let rules = rules { $0.collapse = ["groupKey"] }
        let texts = try ["a", "b"].map { end in
            try #require(
                try event(rules, "{\"groupKey\": \"\(String(repeating: "ö", count: 200))\(end)\"}")?.collapse)
        }
        #expect(texts[0] != texts[1] && texts.allSatisfy { $0.utf8.count <= 256 && $0.hasPrefix("öööö") })
        #expect(try event(rules, #"{"groupKey": ""}"#)?.collapse == nil)
    }
}
