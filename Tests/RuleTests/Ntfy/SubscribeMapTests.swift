import Routing
import Testing

@testable import Mapping

struct SubscribeMapTests {
    private func map(_ topic: String = "/ntfy/{name}", title: String? = nil, body: String? = nil) throws -> SubscribeMap
    {
        var map = SubscribeMap(names: ["backups"], topic: try TopicPattern(topic))
        map.title = try title.map(MessageTemplate.init)
        map.body = try body.map(MessageTemplate.init)
        return map
    }

    private var message: NtfyMessage {
        var message = NtfyMessage(.message, id: "abcdefghijkl", time: 1000, topic: "backups")
        message.title = "Done"
        message.text = "all of it"
        return message
    }

    @Test func aMessageIsAnEvent() throws {
        let event = try map().event(of: message)
        #expect(event.topic.description == "/ntfy/backups")
        #expect(event.title == "Done")
        #expect(event.body == "all of it")
        #expect(event.urgency == 1)
        #expect(event.eventID == "abcdefghijkl")
        #expect(event.published == 1_000_000_000)
        #expect(event.buttons.isEmpty)
    }

    @Test func tagsAreDrawnWhereTheyAreEmojiAndATopicIsATitle() throws {
        var message = message
        message.title = ""
        message.tags = ["warning", "disk", "tada"]
        let event = try map().event(of: message)
        #expect(event.title == "⚠️ 🎉 backups")
        #expect(event.fields["tags"] == .strings(["warning", "disk", "tada"]))
    }

    @Test(arguments: [
        ("arrows_clockwise", "🔃"), ("rotating_light", "🚨"), ("de", "🇩🇪"), ("zombie_woman", "🧟‍♀️"), ("+1", "👍"),
    ])
    func theWholeTableOfEmojiIsKnown(_ tag: String, _ emoji: String) throws {
        var message = message
        message.tags = [tag]
        #expect(try map().event(of: message).title == emoji + " Done")
    }

    @Test func rulesLeaveOutSilenceAndCollapse() throws {
        var map = try map()
        map.rules.only = [[.init(["json", "status"], ["firing", "resolved"])], [.init(["tags"], ["door"])]]
        map.rules.silent = [[.init(["json", "status"], ["resolved"])]]
        map.rules.collapse = ["json", "groupKey"]
        map.rules.urgency = try MessageUrgency.template("{{json.severity}}")
        var message = message
        #expect(try map.eventUnlessLeftOut(message) == nil)
        message.tags = ["door"]
        #expect(try map.eventUnlessLeftOut(message)?.collapse == "ntfy:abcdefghijkl")
        message.text = #"{"status": "firing", "groupKey": "{}:{}", "severity": "critical"}"#
        let firing = try #require(try map.eventUnlessLeftOut(message))
        #expect(firing.collapse == "{}:{}" && firing.urgency == 2 && !firing.isSilent)
        message.text = #"{"status": "resolved", "groupKey": "{}:{}", "severity": "info"}"#
        let resolved = try #require(try map.eventUnlessLeftOut(message))
        #expect(resolved.collapse == "{}:{}" && resolved.urgency == 1 && resolved.isSilent)
    }

    @Test(arguments: [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)] as [(Int, UInt8)])
    func prioritiesAreUrgencies(_ priority: Int, _ urgency: UInt8) throws {
        var message = message
        message.priority = priority
        #expect(try map().event(of: message).urgency == urgency)
    }

    @Test func textsNameWhatTheMessageHas() throws {
        var message = message
        message.tags = ["tada", "disk", "sda"]
        message.text = #"{"host":"desk","left":{"percent":3}}"#
        let map = try map(
            "/home/disk", title: "{{emoji}} {{json.host}}{{#tags}} {{.}}{{/tags}}",
            body: "{{json.left.percent}} % of {{name}}, {{title}}, {{priority}}")
        let event = try map.event(of: message)
        #expect(event.topic.description == "/home/disk")
        #expect(event.title == "🎉 desk disk sda")
        #expect(event.body == "3 % of backups, Done, 3")
        message.text = #"{"host":"a\u0000b\uffff"}"#
        #expect(try map.event(of: message).title == "🎉 ab disk sda")
        message.text = "no JSON"
        #expect(try map.event(of: message).body == " % of backups, Done, 3")
    }

    @Test func longTextsAreCutToWhatNotifydTakes() throws {
        var message = message
        message.title = String(repeating: "ö", count: 1000)
        message.text = String(repeating: "€", count: 20000)
        message.click = "https://" + String(repeating: "a", count: 9000)
        let event = try map().event(of: message)
        #expect(event.title.utf8.count == 1024)
        #expect(event.body.utf8.count == 8190)
    }

    @Test func aClickAnAttachmentAndActionsAreButtons() throws {
        var message = message
        message.click = "https://example.com"
        message.attachment = .init(name: "a.jpg", type: nil, size: nil, url: "https://example.com/a.jpg")
        message.actions = [
            NtfyAction(label: "View", kind: .view(url: "https://b")),
            NtfyAction(label: "Go", kind: .http(url: "https://c", method: "PUT", headers: [], body: "")),
            NtfyAction(label: "Copy", kind: .copy(value: "123 456")),
        ]
        var map = try map()
        let buttons = try map.event(of: message).buttons
        #expect(
            buttons.map(\.key) == [
                "default", "ntfy-open", "ntfy-attachment", "ntfy-action-0", "ntfy-action-1", "ntfy-action-2",
            ])
        #expect(buttons.map(\.label) == ["Open", "Open", "Open file", "View", "Go", "Copy"])
        #expect(NtfyAction.list(from: NtfyAction.text(of: message.actions)) == message.actions)
        #expect(NtfyEvent.actionIndex(ofKey: "ntfy-action-1") == 1)
        #expect(NtfyEvent.actionIndex(ofKey: "ntfy-open") == nil)
        map.makesRequests = false
        message.actions[2].kind = .broadcast
        #expect(try map.event(of: message).buttons.last?.label == "Copy (not supported here)")
        #expect(try map.event(of: message).buttons.map(\.label).contains("Go") == false)
    }

    @Test(arguments: [
        ("{{nope}}", ["nope"]), ("{{title}} {{name.x}}{{! note }}", ["name.x"]),
        ("{{attachment}}{{attachment.name}}", []),
        ("{{#json.alerts}}{{annotations.summary}} {{/json.alerts}}{{annotations}}", ["annotations"]),
        ("{{#tags}}{{.}}{{x}}{{/tags}}", ["x"]), ("{{^json}}{{y}}{{/json}}{{{z}}}{{&z}}", ["y", "z"]), ("plain", []),
    ])
    func namesThatNoMessageHasAreFound(_ text: String, _ unknown: [String]) throws {
        #expect(SubscribeMap.unknownNames(in: try MessageTemplate(text)) == unknown)
    }

    @Test func aTextThatComesOutEmptyIsTheUsualOne() throws {
        let map = try map("/a", title: "{{json.title}}", body: " {{#json.rows}}{{.}}{{/json.rows}}\n")
        #expect(try map.event(of: message).title == "Done")
        #expect(try map.event(of: message).body == "all of it")
        // Who wants no text has none, but not none at all.
        #expect(try self.map("/a", body: "").event(of: message).body == "")
        #expect(try self.map("/a", title: "", body: "").event(of: message).title == "Done")
    }

    @Test func punctuationAloneIsNothing() throws {
        let map = try map("/a", title: "{{json.a}}: {{json.b}}", body: "({{json.a}}) – {{json.b}}!")
        #expect(try map.event(of: message).title == "Done")
        #expect(try map.event(of: message).body == "all of it")
        var message = message
        message.text = #"{"a": "🚪", "b": ""}"#
        #expect(try map.event(of: message).title == "🚪: ")
        // What is written so is meant so.
        #expect(try self.map("/a", title: "…").event(of: message).title == "…")
    }

    @Test(arguments: ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "vnc://a", "nothing"])
    func whatIsNotOpenedHasNoButton(_ address: String) throws {
        var message = message
        message.click = address
        message.attachment = .init(name: "a.jpg", type: nil, size: nil, url: address)
        message.actions = [NtfyAction(label: "View", kind: .view(url: address))]
        let event = try map().event(of: message)
        #expect(event.buttons.isEmpty)
        #expect(event.fields["click"] != nil)
    }

    @Test func aSequenceIsInTheNameOfItsEvents() throws {
        var message = message
        message.sequence = "door-1"
        let event = try map().event(of: message)
        #expect(event.eventID == "door-1/abcdefghijkl")
        #expect(event.collapse == "ntfy:door-1")
        #expect(NtfyEvent.sequence(ofEventID: event.eventID) == "door-1")
        #expect(NtfyEvent.sequence(ofEventID: "abcdefghijkl") == "abcdefghijkl")
    }
}
