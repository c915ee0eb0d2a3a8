import Linking
import Mapping
import NotifyTestSupport
import Routing
import TOMLTables
import Testing

/// The maps in `examples`, with what Home Assistant, Frigate, Zigbee2MQTT and Alertmanager publish.
struct ExampleMapTests {
    private func maps(_ example: String) throws -> MapSettings {
        let text = try Project.text("examples/\(example)/mqtt.toml")
        return try TableReader.read(file: "mqtt.toml", text: text) { LinkSettings.read(from: &$0, host: "desk") }.maps
    }

    /// What becomes of a message, as `title | body | banner, silent or nothing`, and its place.
    private func result(_ example: String, _ topic: String, _ payload: String) throws -> (
        text: String, event: MappedEvent?
    ) {
        let maps = try maps(example)
        let index = try #require(maps.index(ofMapFor: topic))
        guard case .event(let event) = try maps.inbound[index].result(of: Array(payload.utf8), at: topic) else {
            return ("nothing", nil)
        }
        return ("\(event.topic) | \(event.title) | \(event.isSilent ? "silent" : "banner")", event)
    }

    @Test(arguments: [
        ("sensor/outside/state", "21.5", "/home/sensor/outside | outside: 21.5 | silent"),
        ("sensor/outside/state", "unavailable", "/home/sensor/outside | outside: unavailable | silent"),
        ("light/desk/state", "on", "/home/light/desk | desk: on | silent"),
        ("binary_sensor/front_door/state", "on", "/home/binary_sensor/front_door | front_door: on | banner"),
        ("binary_sensor/front_door/state", "off", "/home/binary_sensor/front_door | front_door: off | silent"),
        (
            "binary_sensor/front_door/state", "unavailable",
            "/home/binary_sensor/front_door | front_door: unavailable | silent"
        ),
        ("binary_sensor/hall_motion/state", "on", "/home/binary_sensor/hall_motion | hall_motion: on | silent"),
        (
            "alarm_control_panel/home/state", "triggered",
            "/home/alarm_control_panel/home | Alarm: triggered | banner"
        ),
        (
            "alarm_control_panel/home/state", "armed_away",
            "/home/alarm_control_panel/home | Alarm: armed_away | silent"
        ),
    ])
    func statesOfHomeAssistantAreSilentAndDoorsRing(_ topic: String, _ payload: String, _ expected: String) throws {
        let (text, event) = try result("home-assistant", "homeassistant/" + topic, payload)
        #expect(text == expected)
        let rings = topic.hasPrefix("binary_sensor") || topic.hasPrefix("alarm")
        #expect(event?.collapse == (rings ? event?.topic.segments.last.map(String.init) : nil))
    }

    @Test func anAutomationOfHomeAssistantUpdatesAndClearsByItsTag() throws {
        let topic = "home/notify/door"
        let (text, event) = try result(
            "home-assistant", topic, #"{"title": "Door", "message": "It is open", "tag": "door", "id": "01J"}"#)
        #expect(text == "/home/door | Door | banner")
        #expect(event?.body == "It is open" && event?.collapse == "door" && event?.id == "01J" && event?.urgency == nil)
        let (cleared, end) = try result(
            "home-assistant", topic, #"{"message": "clear_notification", "tag": "door", "id": "01K"}"#)
        #expect(cleared == "/home/door |  | silent" && end?.collapse == "door")
        let (_, urgent) = try result("home-assistant", topic, #"{"message": "Fire", "urgency": "critical"}"#)
        #expect(urgent?.urgency == 2 && urgent?.collapse == nil && urgent?.isSilent == false)
    }

    private func review(_ type: String, _ severity: String, end: String = "null") -> String {
        let state = """
            {"id": "1718987129.308396-fqk5ka", "camera": "front_door", "start_time": \
            1718987129.308396, "end_time": \(end),
             "severity": "\(severity)", "thumb_path": "/media/frigate/clips/review/thumb-front_door-1718987129.webp",
             "data": {"detections": ["1718987128.947436-g92ztx"], "objects": ["person", "car"], "sub_labels": [],
                      "zones": ["driveway"], "audio": []}}
            """
        return "{\"type\": \"\(type)\", \"before\": \(state), \"after\": \(state)}"
    }

    @Test func alertsOfFrigateAreOneBannerEach() throws {
        let (text, event) = try result("frigate", "frigate/reviews", review("new", "alert"))
        #expect(text == "/camera | front_door: person car  | banner")
        #expect(event?.body == "driveway " && event?.collapse == "1718987129.308396-fqk5ka")
        #expect(try result("frigate", "frigate/reviews", review("update", "alert")).event?.collapse == event?.collapse)
        #expect(try result("frigate", "frigate/reviews", review("update", "detection")).text == "nothing")
        #expect(try result("frigate", "frigate/reviews", review("end", "alert", end: "1718987150.2")).text == "nothing")
        #expect(
            try result("frigate", "frigate/available", "offline").text
                == "/camera/frigate | Frigate is offline | banner")
        #expect(
            try result("frigate", "frigate/available", "online").text == "/camera/frigate | Frigate is online | silent")
    }

    @Test(arguments: [
        (
            "kitchen/door",
            #"{"battery":100,"contact":false,"device_temperature":25,"linkquality":120,"voltage":3025}"#,
            "/home/kitchen/door | kitchen: the door is open | banner"
        ),
        (
            "kitchen/door", #"{"battery":100,"contact":true,"linkquality":120,"voltage":3025}"#,
            "/home/kitchen/door | kitchen: the door is closed | silent"
        ),
        (
            "cellar", #"{"battery":"100.00","voltage":3045,"linkquality":99,"water_leak":true}"#,
            "/home/cellar | cellar: water | banner"
        ),
        ("cellar", #"{"battery":100,"tamper":false,"water_leak":false}"#, "/home/cellar | cellar | silent"),
        ("outside", #"{"temperature":27.34,"humidity":44.72}"#, "/home/outside | outside | silent"),
        ("cellar/availability", #"{"state":"offline"}"#, "/home/cellar/availability | cellar is offline | banner"),
        ("cellar/availability", #"{"state":"online"}"#, "/home/cellar/availability | cellar is online | silent"),
        ("bridge/state", #"{"state":"offline"}"#, "/home/zigbee2mqtt | Zigbee2MQTT is offline | banner"),
        ("bridge/logging", #"{"level":"info","message":"MQTT publish: topic 'x'","namespace":"z2m:mqtt"}"#, "nothing"),
        (
            "bridge/logging", #"{"level":"error","message":"Failed to ping 'cellar'","namespace":"z2m"}"#,
            "/home/zigbee2mqtt/log | Zigbee2MQTT | banner"
        ),
    ])
    func devicesOfZigbee2MQTTRingWhenSomethingIsWrong(_ topic: String, _ payload: String, _ expected: String) throws {
        #expect(try result("zigbee2mqtt", "zigbee2mqtt/" + topic, payload).text == expected)
    }

    private func group(_ status: String, severity: String = "critical", alerts: [String] = []) -> String {
        let list = (alerts.isEmpty ? [status] : alerts).map { status in
            """
            {"status": "\(status)", "labels": {"alertname": "DiskFull", "instance": "a"}, "annotations": \
            {"summary": "a is full"},
             "startsAt": "2023-02-06T13:08:45.828Z", "endsAt": "0001-01-01T00:00:00Z",
             "generatorURL": "http://prometheus.example.org:9090/graph?g0.expr=up", "fingerprint": "1a30ba71cca2921f"}
            """
        }
        return """
            {"receiver": "pager", "status": "\(status)", "alerts": [\(list.joined(separator: ","))],
             "groupLabels": {"alertname": "DiskFull"}, "commonLabels": {"alertname": "DiskFull", \
             "severity": "\(severity)"},
             "commonAnnotations": {}, "externalURL": "http://prometheus.example.org:9093", "version": "4",
             "groupKey": "{}/{severity=\\"critical\\"}:{alertname=\\"DiskFull\\"}", "truncatedAlerts": 0}
            """
    }

    @Test func aResolvedGroupOfAlertmanagerTakesItsAlertsBack() throws {
        let (text, event) = try result("alertmanager", "alerts/pager", group("firing"))
        #expect(text == "/alert/pager | firing: DiskFull | banner")
        #expect(event?.body == "a is full (firing)\n" && event?.urgency == 2)
        #expect(event?.collapse == #"{}/{severity="critical"}:{alertname="DiskFull"}"#)
        let (half, update) = try result(
            "alertmanager", "alerts/pager", group("firing", severity: "warning", alerts: ["firing", "resolved"]))
        #expect(half == text && update?.urgency == nil && update?.collapse == event?.collapse)
        let (end, resolved) = try result("alertmanager", "alerts/pager", group("resolved"))
        #expect(end == "/alert/pager | resolved: DiskFull | silent" && resolved?.collapse == event?.collapse)
    }

    /// What strangers send is an event, nothing or a dead letter.
    @Test(arguments: ["home-assistant", "frigate", "zigbee2mqtt", "alertmanager"])
    func rubbishHarmsNoExample(_ example: String) throws {
        for map in try maps(example).inbound {
            let topic = map.filter.filter.split(separator: "/").map { $0 == "+" ? "x" : String($0) }.joined(
                separator: "/")
            for text in [
                "", "rubbish", "[]", "{}", "null", "\"a\"", "{\"type\": {}}",
                "{\"alerts\": [1, {\"labels\": null}, []]}",
                "{\"after\": 7, \"tag\": [[]], \"groupKey\": {\"a\": 1}}", "{\"message\": \"\\u0000\\uffff\"}",
                "{\"groupKey\": \"\(String(repeating: "ö", count: 300))\", \"message\": "
                    + "\"\(String(repeating: "x", count: 9000))\"}",
            ] {
                guard case .event(let event)? = try? map.result(of: Array(text.utf8), at: topic) else { continue }
                #expect(event.collapse?.utf8.count ?? 1 <= 256 && event.collapse != "")
                #expect(event.title.utf8.count <= 1024 && event.body.utf8.count <= 8192)
            }
        }
    }
}
