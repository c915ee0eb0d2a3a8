import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Events between real devices: a notifyd and a notifyd-mqtt on a bus of their own each, and one mosquitto.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct EventTests {
    private let rig: LinkRig! = Fixture.current()
    private static let silent = PublishOptions(banner: false)

    @Test(arguments: [true, false])
    func whatIsPublishedOnOneIsHeardOnAll(isSealed: Bool) async throws {
        try await withLink(3, isSealed: isSealed) { rig in
            let id = try await rig.one.client.publish(
                "/post/27", title: "one", body: "text", fields: ["from": "Mina", "count": .uint32(3)],
                options: PublishOptions(urgency: .low, banner: false, appearance: BannerOptions(app: "Chat")))
            let device = try await rig.one.client.device()
            for other in rig.devices.dropFirst() {
                let event = try await other.event("one").event
                #expect(event.topic == "/post/27" && event.body == "text")
                #expect(event.fields["from"] == "Mina" && event.fields["count"] == .uint32(3))
                let details = try await other.client.journalChanges().changes.first { $0.kind == "event" }?.details
                #expect(details?["source"]?.string == "notifyd:" + device)
                #expect(details?["event-id"]?.string == "\(id)")
                #expect(details?["via"]?.string == "mqtt")
                #expect(details?["urgency"]?.integer() == 0)
                #expect(details?["options"]?.entries?["app"]?.string == "Chat")
            }
            try await rig.devices[2].client.publish("/post/27", title: "three", options: Self.silent)
            try await rig.one.hears("three")
            try await rig.two.hears("three")
            for device in rig.devices { #expect(try await device.titles() == ["one", "three"]) }
        }
    }

    @Test(.link) func theStatusTellsOfDevices() async throws {
        #expect(try await rig.one.bridge.property("State")?.string == "connected")
        let detail = try await rig.one.bridge.property("Detail")?.string ?? ""
        #expect(detail.contains("mina") && detail.contains("MQTT 5"))
        try await rig.one.client.publish("/post/27", title: "one", options: Self.silent)
        try await rig.two.hears("one")
        try await rig.one.until("the time to the broker is known") {
            try await rig.one.bridge.property("RoundTrip")?.integer(as: UInt64.self) ?? 0 > 0
        }
        await rig.two.bridge.stop()
        try await rig.one.until("the other is offline") { try await !rig.one.isOnline("laptop") }
    }

    @Test(.link(link: "share = [\"/post\", \"/run\"]\nskip = [\"/post/secret\"]")) func onlyWhatIsSharedGoesOut()
        async throws
    {
        for topic in ["/post/secret/1", "/other", "/run/1"] {
            try await rig.one.client.publish(topic, title: topic, options: Self.silent)
        }
        try await rig.two.hears("/run/1")
        #expect(try await rig.two.titles() == ["/run/1"])
    }

    @Test(.link) func aThousandEventsAfterAnOutageAreThereOnceAndInOrder() async throws {
        await rig.one.bridge.stop()
        await rig.broker.kill()
        try await rig.two.untilBrokerIsMissed()
        let titles = (1...1000).map { "\($0)" }
        for title in titles { try await rig.one.client.publish("/log/a", title: title, options: Self.silent) }
        try await rig.broker.start()
        // What is said before it listens again would come later than the rest.
        try await rig.two.until(state: "connected", within: .seconds(60))
        try await rig.two.until("its log says so") { rig.two.bridge.log.contains("The broker is connected again") }
        try await rig.one.bridge.start()
        try await rig.two.hears("1000", within: .seconds(60))
        #expect(try await rig.two.titles() == titles)
    }

    @Test(arguments: [true, false])
    func aBrokerThatIsKilledLosesNothing(isPersistent: Bool) async throws {
        var settings = TestBroker.Settings()
        settings.isPersistent = isPersistent
        try await withLink(broker: settings) { rig in
            var titles: [String] = []
            for round in 0..<3 {
                for number in 0..<30 {
                    titles.append("\(round) \(number)")
                    try await rig.one.client.publish("/log/a", title: titles.last!, options: Self.silent)
                    if number == 15 { await rig.broker.kill() }
                }
                try await rig.broker.start()
            }
            try await rig.two.hearsOnce(titles)
        }
    }

    @Test(.link) func aBridgeThatIsKilledLosesNothing() async throws {
        var titles: [String] = []
        for round in 0..<4 {
            for number in 0..<50 {
                titles.append("\(round) \(number)")
                try await rig.one.client.publish("/log/a", title: titles.last!, options: Self.silent)
                if number == 25 { await (round < 2 ? rig.one : rig.two).bridge.kill() }
            }
            try (round < 2 ? rig.one : rig.two).bridge.launch()
        }
        try await rig.two.hearsOnce(titles)
    }

    @Test(.link) func aDaemonThatIsKilledLosesNothing() async throws {
        var titles: [String] = []
        for number in 0..<40 {
            titles.append("\(number)")
            try await rig.one.client.publish("/log/a", title: titles.last!, options: Self.silent)
            if number == 20 {
                try await rig.two.daemon.restart()
            }
        }
        try await rig.two.hearsOnce(titles)
        try await rig.one.daemon.restart()
        try await rig.one.client.publish("/log/a", title: "after", options: Self.silent)
        try await rig.two.hears("after")
    }

    @Test(.link) func rubbishOnTheBrokerDoesNothing() async throws {
        let device = try await rig.one.client.device()
        let long = String(repeating: "x", count: 300_000)
        for topic in ["s", "v", "d", "o", "r", "u"] {
            for text in ["rubbish", "{}", "{\"v\":1,\"sealed\":\"\"}", "", "[[[[[[[", long] {
                for name in [device, "0123456789abcdef0123456789abcdef", "x"] {
                    try await rig.broker.publish(text, to: "notifyd/1/mina/\(topic)/\(name)")
                }
            }
        }
        try await rig.one.client.publish("/post/27", title: "one", options: Self.silent)
        try await rig.two.hears("one")
        try await rig.two.client.publish("/post/27", title: "two", options: Self.silent)
        try await rig.one.hears("two")
        #expect(try await rig.one.titles() == ["one", "two"])
        #expect(try await rig.one.bridge.property("State")?.string == "connected")
    }

    @Test(.link(isStarted: false)) func whoHasAnotherKeyIsNotHeard() async throws {
        try rig.two.bridge.writeSecret("//////////////////////////////////////////8=", to: "link.key")
        try await rig.one.bridge.start()
        try await rig.two.bridge.start()
        try await rig.one.client.publish("/post/27", title: "one", options: Self.silent)
        try await rig.one.until("Backlog", is: 0)
        #expect(try await rig.two.titles() == [])
        #expect(try await rig.two.bridge.property("Peers")?.elements?.isEmpty == true)
    }

    @Test func aWrongPasswordIsShown() async throws {
        var settings = TestBroker.Settings()
        settings.users = ["mina": "right"]
        try await withLink(1, broker: settings, link: "password = { file = \"password\" }", isStarted: false) { rig in
            try rig.one.bridge.writeSecret("wrong", to: "password")
            try rig.one.bridge.launch()
            try await rig.one.until(state: "failed")
            #expect(try await rig.one.bridge.property("Detail")?.string?.contains("password") == true)
            // The password is read before each attempt.
            try rig.one.bridge.writeSecret("right", to: "password")
            try await rig.one.until(state: "connected", within: .seconds(30))
        }
    }

}
