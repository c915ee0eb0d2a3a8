import Mapping
import NotifyText
import Routing
import Testing

struct OutgoingMessageTests {
    private func map(title: String? = nil, message: String? = nil, moment: PublishMap.Moment = .always) throws
        -> PublishMap
    {
        var map = PublishMap(name: "phone", topics: [try TopicPrefix("/post")], moment: moment)
        map.title = try title.map(MessageTemplate.init)
        map.message = try message.map(MessageTemplate.init)
        return map
    }

    private func json(_ event: OutgoingMessage.Event, _ map: PublishMap) throws -> JSON {
        try JSONParser.parse(OutgoingMessage(event, for: map).bytes)
    }

    private func event(_ title: String = "New post", _ body: String = "by Jan") -> OutgoingMessage.Event {
        OutgoingMessage.Event(
            topic: try! Topic("/post/27"), title: title, body: body, urgency: 2, source: "notifyd:0123", eventID: "77",
            fields: [("from", "Jan"), ("click", "https://a")])
    }

    @Test func anEventIsAMessage() throws {
        let json = try json(event(), map())
        #expect(json["topic"]?.string == "phone")
        #expect(json["title"]?.string == "New post")
        #expect(json["message"]?.string == "by Jan")
        #expect(json["priority"]?.integer() == 5)
        #expect(json["click"]?.string == "https://a")
        #expect(json["sequence_id"]?.string == SequenceName.make(source: "notifyd:0123", eventID: "77"))
    }

    @Test func whatIsPrivateNeverGoesOut() throws {
        var map = try map()
        map.isLinked = true
        let topic = try Topic("/post/27")
        #expect(map.takes(topic: topic, source: "desktop", via: ""))
        #expect(!map.takes(topic: topic, source: "local:desktop", via: ""))
    }

    @Test func anEventWithoutABodySaysItsTitle() throws {
        let json = try json(event("New post", ""), map())
        #expect(json["title"] == nil)
        #expect(json["message"]?.string == "New post")
    }

    @Test func aTextThatComesOutEmptyIsThatOfTheEvent() throws {
        let json = try json(event(), map(title: "{{nope}}", message: " {{nope}}"))
        #expect(json["title"]?.string == "New post")
        #expect(json["message"]?.string == "by Jan")
        #expect(try self.json(event("", ""), map())["message"]?.string == "/post/27")
    }

    @Test func textsNameWhatTheEventHas() throws {
        let json = try json(event(), map(title: "{{topic}}", message: "{{from}}: {{title}}"))
        #expect(json["title"]?.string == "/post/27")
        #expect(json["message"]?.string == "Jan: New post")
    }

    @Test(arguments: ["ö", "\"", "€", "\u{1}", "x", "\\"])
    func aLongMessageIsCutOnACharacter(_ character: String) throws {
        let message = try OutgoingMessage(event("", String(repeating: character, count: 9000)), for: map())
        #expect(message.bytes.count <= 8192)
        let text = try #require(try JSONParser.parse(message.bytes)["message"]?.string)
        #expect(text.utf8.count <= 4096)
        #expect(text.hasSuffix("…"))
        #expect(text.utf8.count > 500)
        #expect(text.dropLast().allSatisfy { String($0) == character })
    }

    @Test func aSequenceIdIsOneAndTheSame() {
        let name = SequenceName.make(source: "notifyd:0123", eventID: "77")
        #expect(name == SequenceName.make(source: "notifyd:0123", eventID: "77"))
        #expect(NtfyMessage.isName(name))
        #expect(SequenceName.isOwn(name))
        #expect(!SequenceName.isOwn("abcdefghijkl"))
        #expect(name != SequenceName.make(source: "notifyd:01237", eventID: "7"))
        #expect(NtfyMessage.isName(SequenceName.make(source: String(repeating: "ö/ ", count: 500), eventID: "")))
    }

    @Test func whatAServerHasBroughtDoesNotGoOut() throws {
        var map = try map()
        let topic = try Topic("/post/27")
        #expect(map.takes(topic: topic, source: "notifyd:0123", via: ""))
        #expect(map.takes(topic: topic, source: "mail", via: "unifiedpush"))
        #expect(!map.takes(topic: topic, source: "ntfy:ntfy.sh/a", via: "ntfy:ntfy.sh"))
        #expect(!map.takes(topic: try Topic("/other"), source: "a", via: ""))
        #expect(!map.takes(topic: topic, source: "notifyd:0123", via: "mqtt"))
        #expect(!map.takes(topic: topic, source: "channel:x", via: "mqtt:x"))
        map.isLinked = true
        #expect(map.takes(topic: topic, source: "notifyd:0123", via: "mqtt"))
    }

    @Test func anEventWaitsForItsWindowAndForNobodyToComeBack() throws {
        let always = try map()
        #expect(always.decision(accepted: 1_000_000, window: 500) == 1_750_000)
        #expect(always.deadline(accepted: 1_000_000, window: 500) == nil)
        let away = try map(moment: .away(after: .seconds(120)))
        #expect(away.deadline(accepted: 1_000_000, window: 500) == 121_000_000)
        let soon = try map(moment: .away(after: .seconds(1)))
        #expect(soon.deadline(accepted: 1_000_000, window: 60_000) == 61_250_000)
        #expect(PublishMap.isOpen(outcome: "") && PublishMap.isOpen(outcome: "shown"))
        #expect(!PublishMap.isOpen(outcome: "claimed") && !PublishMap.isOpen(outcome: "muted"))
    }
}
