import Mapping
import NotifyText
import Routing
import Testing

/// What becomes of the text of a sender.
struct PushReaderTests {
    private func source(_ map: PushMap = PushMap()) throws -> PushSource {
        PushSource(name: "post", topic: try Topic("/post"), map: map)
    }

    private func event(_ text: String, _ map: PushMap = PushMap()) throws -> MappedEvent {
        try source(map).event(of: Array(text.utf8))
    }

    private func error(_ text: String, _ map: PushMap = PushMap()) throws -> String? {
        do {
            _ = try event(text, map)
            return nil
        } catch let error as MapError {
            return error.description
        }
    }

    // MARK: Without a configuration

    @Test func textIsATitleAndWhatFollowsABody() throws {
        let short = try event("Hello")
        #expect(short.title == "Hello" && short.body == "" && short.topic.description == "/post")
        #expect(short.urgency == nil && short.id == nil && short.fields.isEmpty)
        let long = try event("Hello\nMina\nlikes it")
        #expect(long.title == "Hello" && long.body == "Mina\nlikes it")
        #expect(try event("{no JSON").title == "{no JSON")
        #expect(try event("[1, 2]").title == "[1, 2]")
    }

    @Test(arguments: [
        (#"{"title": "a", "body": "b"}"#, "a", "b"), (#"{"title": "a", "message": "b"}"#, "a", "b"),
        (#"{"title": "a"}"#, "a", ""), (#"{"message": "b\nc"}"#, "b", "c"), (#"{"title": "", "body": "b"}"#, "b", ""),
        (#"{"notification": {"title": "a", "body": "b"}}"#, "a", "b"),
        (#"{"title": "x", "notification": {"title": "a"}}"#, "x", ""),
        (#"{"count": 7}"#, "post", #"{"count": 7}"#), (#"{"title": 7}"#, "post", #"{"title": 7}"#),
        ("{}", "post", "{}"),
    ])
    func objectsHaveTheUsualMembers(_ text: String, _ title: String, _ body: String) throws {
        let found = try event(text)
        #expect(found.title == title && found.body == body)
    }

    @Test func aTopicIsBelowThatOfTheEndpoint() throws {
        #expect(try event(#"{"title": "a", "topic": "27/likes"}"#).topic.description == "/post/27/likes")
        #expect(try event(#"{"title": "a", "topic": "/27"}"#).topic.description == "/post/27")
        #expect(try event(#"{"title": "a", "topic": ""}"#).topic.description == "/post")
        // Nothing leads out of it.
        for topic in ["..", "../..", "/../bank", "a/./b", "."] {
            let text = try error(#"{"title": "a", "topic": "\#(topic)"}"#)
            #expect(text?.contains("its topic must be below /post") == true, "\(topic)")
        }
        #expect(try event(#"{"title": "a", "topic": "v1..2/.x"}"#).topic.description == "/post/v1..2/.x")
        #expect(try error(#"{"title": "a", "topic": "a*"}"#)?.contains("must be below /post") == true)
        #expect(try error(#"{"title": "a", "topic": "\#(String(repeating: "a/", count: 20))"}"#) != nil)
    }

    @Test(arguments: [
        ("\"very-low\"", UInt8?(0)), ("\"low\"", 0), ("\"normal\"", 1), ("\"high\"", 2), ("\"critical\"", 2), ("2", 2),
        ("\"x\"", nil), ("7", nil), ("null", nil),
    ])
    func urgenciesAreThoseOfWebPushAndOfNotifyd(_ text: String, _ urgency: UInt8?) throws {
        #expect(try event(#"{"title": "a", "urgency": \#(text)}"#).urgency == urgency)
    }

    @Test func fieldsAndIDsAreTaken() throws {
        let found = try event(#"{"title": "a", "id": 17, "fields": {"from": "Mina", "count": 5000}}"#)
        #expect(found.id == "17")
        #expect(found.fields == ["from": "Mina", "count": 5000])
        #expect(try event(#"{"title": "a", "id": "m-1"}"#).id == "m-1")
        #expect(try event(#"{"title": "a", "id": " "}"#).id == nil)
        #expect(try event(#"{"title": "a", "topic": 27}"#).topic.description == "/post/27")
        #expect(try error(#"{"title": "a", "id": "\#(String(repeating: "i", count: 201))"}"#)?.contains("201") == true)
        let many = (0..<65).map { "\"f\($0)\": 1" }.joined(separator: ",")
        #expect(try error("{\"title\": \"a\", \"fields\": {\(many)}}")?.contains("it has 65") == true)
    }

    @Test func textsAreCutBetweenCharacters() throws {
        let found = try event(#"{"title": "\#(String(repeating: "영", count: 400))", "body": "b"}"#)
        #expect(found.title.utf8.count == 1023)
    }

    @Test func whatSaysNothingIsRefused() throws {
        #expect(try error("") == "the message is empty")
        #expect(throws: MapError.self) { try source().event(of: [0xFF, 0xFE]) }
        var map = PushMap()
        map.title = try MessageTemplate("{{#name}}{{name}}{{/name}}")
        #expect(try error("{\"title\": \"a\"}", map)?.contains("neither a title nor a body") == true)
    }

    @Test(arguments: [" \n\t ", #"{"title": " ", "body": "\n"}"#])
    func whiteSpaceIsNoBanner(_ text: String) throws {
        #expect(try error(text)?.contains("neither a title nor a body") == true)
    }

    // MARK: With a configuration

    @Test func punctuationThatATemplateLeavesIsNothing() throws {
        var map = PushMap()
        map.title = try MessageTemplate("{{a}}: {{b}}")
        #expect(try error("{}", map)?.contains("neither a title nor a body") == true)
        map.body = try MessageTemplate("{{c}}")
        #expect(try event(#"{"c": "x"}"#, map).title == "")
        #expect(try event(#"{"a": "+"}"#, map).title == "+: ")
    }

    @Test func anUrgencyThatIsNoneIsToldOfATemplateAlone() throws {
        var map = PushMap()
        map.urgency = try MessageTemplate("{{severity}}")
        #expect(try error(#"{"title": "a", "severity": "fatal"}"#, map)?.contains("very-low, low") == true)
        #expect(try event(#"{"title": "a"}"#, map).urgency == nil)
        #expect(try event(#"{"title": "a", "urgency": "fatal"}"#).urgency == nil)
    }

    @Test func rulesLeaveOutSilenceAndCollapse() throws {
        var map = PushMap()
        map.rules.except = [[.init(["notification_type"], ["favourite"])]]
        map.rules.silent = [[.init(["state"], ["done"])], [.init(["endpoint"], ["other"])]]
        map.rules.collapse = ["run"]
        let source = PushSource(name: "post", topic: try Topic("/post"), map: map)
        func event(_ text: String) throws -> MappedEvent? { try source.eventUnlessLeftOut(Array(text.utf8)) }
        #expect(try event(#"{"title": "a", "notification_type": "favourite"}"#) == nil)
        let begun = try #require(try event(#"{"title": "a", "run": 17}"#))
        #expect(!begun.isSilent && begun.collapse == "17")
        let done = try #require(try event(#"{"title": "a", "run": 17, "state": "done"}"#))
        #expect(done.isSilent && done.collapse == "17")
        #expect(try event("plain text")?.collapse == nil)
        #expect(throws: MapError.self) { try event("") }
    }

    @Test func templatesSayWhatIsShown() throws {
        var map = PushMap()
        map.title = try MessageTemplate("{{user.name}}: {{text}}")
        map.below = try MessageTemplate("{{room}}")
        map.urgency = try MessageTemplate("{{#mention}}critical{{/mention}}{{^mention}}low{{/mention}}")
        map.id = try MessageTemplate("{{user.id}}-{{number}}")
        map.fields = [.init("from", try MessageTemplate("{{user.name}}")), .init("none", try MessageTemplate("{{x}}"))]
        let found = try event(
            #"{"user": {"name": "Mina", "id": 3}, "text": "Hi", "room": "garden", "mention": true, "#
                + #""number": 4, "body": "b"}"#,
            map)
        #expect(found.title == "Mina: Hi" && found.body == "" && found.topic.description == "/post/garden")
        #expect(found.urgency == 2 && found.id == "3-4")
        // What is left of the template would be the same for others.
        for text in [
            #"{"text": "Hi"}"#, #"{"text": "Hi", "number": 4}"#, #"{"text": "Hi", "user": {"id": ""}, "number": 4}"#,
        ] {
            #expect(try event(text, map).id == nil)
        }
        #expect(found.fields == ["from": "Mina"])
    }

    @Test func templatesForTextNeedNoObject() throws {
        var map = PushMap()
        map.title = try MessageTemplate("{{endpoint}}")
        map.body = try MessageTemplate("{{payload}}")
        let found = try event("Hello", map)
        #expect(found.title == "post" && found.body == "Hello")
        // What a sender calls so does not count.
        #expect(try event(#"{"endpoint": "bank"}"#, map).title == "post")
        map.title = try MessageTemplate("{{name}}")
        #expect(try error("Hello", map)?.hasPrefix("the message is not JSON (") == true)
        #expect(try error("[1]", map)?.hasPrefix("the message is not a JSON object, and") == true)
    }
}
