import Mapping
import Routing
import Testing

struct MapTests {
    private func map(
        _ filter: String = "home/{room}/door", _ topic: String = "/home/{room}", title: String? = nil,
        body: String? = nil, id: [String]? = nil, retain: Bool = false
    ) throws -> InboundMap {
        InboundMap(
            filter: try LevelPattern(filter), topic: try TopicPattern(topic),
            title: try title.map(MessageTemplate.init),
            body: try body.map(MessageTemplate.init), isRetained: retain, id: id)
    }

    private func event(_ map: InboundMap, _ text: String, at topic: String = "home/bath/door") throws -> MappedEvent? {
        if case .event(let event) = try map.result(of: Array(text.utf8), at: topic) { event } else { nil }
    }

    @Test func membersAndCapturesStandInTheTexts() throws {
        let map = try map(
            title: "{{room}}: {{state.value}}", body: "{{#battery}}{{battery}} %{{/battery}}", id: ["context", "id"])
        let event = try #require(try event(map, #"{"state":{"value":"open"},"battery":7,"context":{"id":12}}"#))
        #expect(event.topic.description == "/home/bath")
        #expect(event.title == "bath: open" && event.body == "7 %" && event.id == "12")
    }

    @Test func withoutTextsTheMessageIsTheBody() throws {
        let event = try #require(try event(map(), "22.5"))
        #expect(event.title.isEmpty && event.body == "22.5" && event.id == nil)
    }

    @Test func rawTextNeedsNoJSON() throws {
        let map = try map(title: "{{room}} is {{payload}}", body: "{{topic}}")
        let event = try #require(try event(map, "OPEN {"))
        #expect(event.title == "bath is OPEN {" && event.body == "home/bath/door")
    }

    @Test func captureNamesCannotBeTakenByTheMessage() throws {
        let event = try #require(try event(map(title: "{{room}} {{x}}"), #"{"room":"forged","x":1}"#))
        #expect(event.title == "bath 1")
    }

    @Test(arguments: ["no json", "[1]", "\"text\"", "{", #"{"a":1,"a":2}"#])
    func whereMembersAreNamedTheMessageIsAnObject(_ text: String) throws {
        let map = try map(title: "{{state}}")
        #expect(throws: MapError.self) { try event(map, text) }
    }

    @Test func whatIsNoTextIsRefused() throws {
        #expect(throws: MapError.self) { try map().result(of: [0xFF, 0xFE], at: "home/bath/door") }
    }

    /// The configuration may write them, and they mean themselves; a sender may not.
    @Test func aSenderCannotMakeSegmentsThatMeanAnotherPlace() throws {
        for level in [".", ".."] {
            #expect(throws: MapError.self) { try event(map(), "a", at: "home/\(level)/door") }
        }
        #expect(try event(map(), "a", at: "home/.../door")?.topic.description == "/home/...")
        #expect(try event(map("a/{room}", "/../{room}"), "a", at: "a/b")?.topic.description == "/../b")
    }

    @Test func anEmptyMessageTakesTheValueAway() throws {
        #expect(try map(retain: true).result(of: [], at: "home/bath/door") == .removal(Topic("/home/bath")))
        #expect(try map().result(of: [], at: "home/bath/door") == .nothing)
        // Its members are wanted, and it has none.
        #expect(throws: MapError.self) { try map(title: "{{state}}").result(of: [], at: "home/bath/door") }
    }

    @Test(arguments: ["", "a*b", "it's", "{room}", String(repeating: "x", count: 65)])
    func aLevelThatIsNoSegmentIsRefused(_ level: String) throws {
        let map = try map()
        #expect(throws: MapError.self) { try event(map, "x", at: "home/\(level)/door") }
    }

    @Test func longTextsAreCut() throws {
        let event = try #require(try event(map(title: "{{payload}}"), String(repeating: "ö", count: 5000)))
        #expect(event.title.utf8.count == 1024)
        #expect(throws: MapError.self) {
            try self.event(map(title: "x", id: ["id"]), "{\"id\":\"\(String(repeating: "x", count: 256))\"}")
        }
    }

    // MARK: Out

    private let sent = OutboundMap.Event(
        topic: try! Topic("/build/app"), title: "Say \"done\"", body: "", published: 17, urgency: 2,
        source: "notifyd:x", eventID: "1", via: "", fields: [("state", "ok"), ("title", "other")])

    @Test func anEventIsAnObject() throws {
        let map = OutboundMap(address: "desk/events", topics: [.all])
        #expect(
            String(decoding: try map.message(for: sent), as: UTF8.self)
                == #"{"topic":"/build/app","title":"Say \"done\"","body":"","published":17,"urgency":"critical","#
                + #""source":"notifyd:x","event-id":"1","fields":{"state":"ok","title":"other"}}"#
        )
    }

    @Test func aTemplateHasTheTextsAndTheirJSON() throws {
        let map = OutboundMap(
            address: "desk/events", topics: [.all],
            payload: try MessageTemplate(#"{"message": {{json.title}}, "s": "{{state}}"}"#))
        #expect(
            String(decoding: try map.message(for: sent), as: UTF8.self) == #"{"message": "Say \"done\"", "s": "ok"}"#)
    }

    @Test func whatAMapTookInNeverGoesOut() throws {
        var map = OutboundMap(address: "desk/events", topics: [try TopicPrefix("/build")])
        #expect(map.takes(sent))
        var other = sent
        other.source = try self.map().source
        #expect(other.source == "map:home/{room}/door" && !map.takes(other))
        other.source = "local:desktop"
        #expect(!map.takes(other), "private")
        other = sent
        other.topic = try Topic("/builds/app")
        #expect(!map.takes(other))
        for via in ["mqtt", "mqtt:run", "ntfy:x"] {
            other = sent
            other.via = via
            map.isLinked = false
            #expect(!map.takes(other))
            map.isLinked = true
            #expect(map.takes(other) == (via == "mqtt"))
        }
    }
}
