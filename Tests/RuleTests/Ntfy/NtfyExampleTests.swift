import Mapping
import NotifyTestSupport
import TOMLTables
import Testing

@testable import notifyd_ntfy

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
