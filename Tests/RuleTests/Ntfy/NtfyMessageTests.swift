import Mapping
import NotifyTestSupport
import TOMLTables
import Testing

@testable import notifyd_ntfy

struct NtfyMessageTests {
    private func message(_ text: String) throws -> NtfyMessage { try NtfyMessage(line: Array(text.utf8)) }

    @Test func aMessageHasWhatItsPublisherHasGiven() throws {
        let message = try message(
            """
            {"id":"sPs71M8A2T","time":1643935928,"expires":1643936928,"event":"message","topic":"mytopic","priority":5,\
            "tags":["warning","skull"],"click":"https://example.com/","title":"Unauthorized access","message":"Who?",\
            "icon":"https://example.com/i.png","attachment":{"name":"cam.jpg","type":"image/jpeg","size":33848,\
            "expires":1635946532,"url":"https://ntfy.sh/file/x.jpg"},"sequence_id":"door-1","later":{"a":[1]},\
            "actions":[\
            {"id":"x","action":"view","label":"Open","url":"https://example.com","clear":true},\
            {"action":"http","label":"Lock","url":"https://door/lock","headers":{"A":"b"},"body":"1"},\
            {"action":"broadcast","label":"Photo"},{"action":"view","label":"a fourth","url":"https://a"}]}
            """)
        #expect(message.event == .message)
        #expect(message.id == "sPs71M8A2T")
        #expect(message.sequence == "door-1")
        #expect(message.hasSequence)
        #expect(message.time == 1_643_935_928)
        #expect(message.title == "Unauthorized access")
        #expect(message.text == "Who?")
        #expect(message.priority == 5)
        #expect(message.tags == ["warning", "skull"])
        #expect(message.attachment?.size == 33848)
        #expect(
            message.actions == [
                NtfyAction(label: "Open", kind: .view(url: "https://example.com"), clears: true),
                NtfyAction(
                    label: "Lock",
                    kind: .http(url: "https://door/lock", method: "POST", headers: [.init("A", "b")], body: "1")),
                NtfyAction(label: "Photo", kind: .broadcast),
            ])
        #expect(NtfyAction.list(from: NtfyAction.text(of: message.actions)) == message.actions)
    }

    @Test(arguments: [
        ("open", NtfyMessage.Event.open), ("keepalive", .keepalive), ("message_clear", .clear),
        ("message_delete", .delete), ("poll_request", .pollRequest), ("something_new", .unknown),
    ])
    func otherEventsAreKnownOrPassedOver(_ name: String, _ event: NtfyMessage.Event) throws {
        let message = try message(#"{"id":"a","time":1,"event":"\#(name)","topic":"a,b","poll_id":"p","more":null}"#)
        #expect(message.event == event)
        #expect(message.sequence == "a")
        #expect(!message.hasSequence)
        #expect(message.pollID == "p")
    }

    @Test(arguments: [
        "", "<html>", "[]", "{}", #"{"event":"message"}"#, #"{"event":1,"id":"a","time":1,"topic":"t"}"#,
        #"{"event":"message","id":"a b","time":1,"topic":"t"}"#, #"{"event":"message","id":"a","time":-1,"topic":"t"}"#,
        #"{"event":"message","id":"a","time":99999999999999,"topic":"t"}"#,
        #"{"event":"message","id":"a","time":1.5,"topic":"t"}"#,
        "{\"event\":\"message\",\"id\":\"a\",\"time\":1,\"topic\":\"t\"",
        #"{"event":"message","id":"a","time":1,"topic":"t","sequence_id":"/"}"#,
    ])
    func whatIsNoMessageIsRefused(_ line: String) {
        #expect(throws: MapError.self) { try message(line) }
    }

    @Test func membersOfAWrongTypeCountAsMissing() throws {
        let message = try message(
            #"{"event":"message","id":"a","time":1,"topic":"t","title":5,"message":null,"priority":"x","tags":"a","#
                + #""actions":[1,{"action":"view"},{"label":"x"}],"attachment":[],"click":{}}"#)
        #expect(message == NtfyMessage(.message, id: "a", time: 1, topic: "t"))
    }

    @Test func textThatNoMessageOnTheBusCarriesIsLeftOut() throws {
        let message = try message(#"{"event":"message","id":"a","time":1,"topic":"t","title":"a\u0000b\uffffc"}"#)
        #expect(message.title == "abc")
    }

    @Test func bytesAreTextIfTheyAre() throws {
        func text(_ base64: String) throws -> (String, Bool) {
            let message = try message(
                #"{"event":"message","id":"a","time":1,"topic":"t","encoding":"base64","message":"\#(base64)"}"#)
            return (message.text, message.isBinary)
        }
        #expect(try text("aMOk") == ("hä", false))
        #expect(try text("/w==") == ("", true))
        #expect(try text("!") == ("", true))
    }
}

/// The maps in `examples`, with what Alertmanager posts to a server of ntfy.
struct NtfyExampleTests {
    private func map(_ example: String) throws -> SubscribeMap {
        let text = try Project.text("examples/\(example)/ntfy.toml")
        let settings = try TableReader.read(file: "/x/ntfy.toml", text: text) { NtfySettings.read(from: &$0) }
        return try #require(settings.servers.first?.inbound.first)
    }

    private func message(_ text: String) -> NtfyMessage {
        var message = NtfyMessage(.message, id: "abcdefghijkl", time: 1000, topic: "alerts")
        message.text = text
        return message
    }

    private func group(_ status: String) -> String {
        """
        {"receiver": "ntfy", "status": "\(status)", "alerts": [{"status": "\(status)", "labels": \
        {"alertname": "DiskFull"},
         "annotations": {"summary": "a is full"}, "startsAt": "2023-02-06T13:08:45.828Z", \
         "endsAt": "0001-01-01T00:00:00Z",
         "generatorURL": "http://prometheus.example:9090/graph", "fingerprint": "1a30ba71cca2921f"}],
         "groupLabels": {"alertname": "DiskFull"}, "commonLabels": {"alertname": "DiskFull", "severity": "critical"},
         "commonAnnotations": {}, "externalURL": "http://prometheus.example:9093", "version": "4",
         "groupKey": "{}:{alertname=\\"DiskFull\\"}", "truncatedAlerts": 0}
        """
    }

    @Test func aResolvedGroupOfAlertmanagerTakesItsAlertsBack() throws {
        let map = try map("alertmanager")
        let firing = try #require(try map.eventUnlessLeftOut(message(group("firing"))))
        #expect(firing.title == "firing: DiskFull" && firing.body == "a is full (firing)\n")
        #expect(firing.urgency == 2 && !firing.isSilent && firing.collapse == #"{}:{alertname="DiskFull"}"#)
        let resolved = try #require(try map.eventUnlessLeftOut(message(group("resolved"))))
        #expect(resolved.title == "resolved: DiskFull" && resolved.isSilent && resolved.collapse == firing.collapse)
    }

    /// What a person or a stranger writes there is an event, and never silent.
    @Test(arguments: ["alertmanager", "home-assistant"])
    func otherMessagesAreEventsToo(_ example: String) throws {
        for text in ["", "all is well", "{}", "[]", "{\"status\": []}", "{\"groupKey\": \"\\u0000\", \"alerts\": 7}"] {
            let event = try #require(try map(example).eventUnlessLeftOut(message(text)))
            #expect(!event.isSilent && event.collapse == "ntfy:abcdefghijkl" && !event.title.isEmpty)
        }
    }
}
