import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What others publish on the broker, and what they hear: real programs on both sides.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct MapTests {
    private let rig: LinkRig! = Fixture.current()
    private static let silent = PublishOptions(banner: false)

    private static let doors = """
        [[map]]
        filter = "home/{room}/door"
        topic = "/home/{room}/door"
        title = "{{room}}: {{state}}"
        body = "{{#battery}}{{battery}} %{{/battery}}"
        urgency = "critical"
        """

    private func rows(_ device: LinkedDevice) async throws -> [JournalChange] {
        try await device.client.journalChanges().changes.filter { $0.kind == "event" }
    }

    /// A program that prints what is published at a topic; it listens when this returns.
    private func listener(_ topic: String, _ broker: TestBroker) async throws -> ChildProcess {
        let child = try ChildProcess(
            "/usr/bin/mosquitto_sub", ["--unix", broker.socket, "-q", "1", "-t", topic],
            environment: ["PATH": "/usr/bin:/bin"], capturing: [1])
        for _ in 1...100 {
            try await broker.publish("probe", to: topic)
            if await child.lines(of: 1).next(within: .milliseconds(200), where: { $0 == "probe" }) != nil {
                return child
            }
        }
        throw RehearsalError("mosquitto_sub does not listen")
    }

    // MARK: In

    @Test(.link(1, rest: doors)) func aMessageBecomesAnEvent() async throws {
        try await rig.broker.publish(#"{"state": "open", "battery": 7.0}"#, to: "home/bath/door")
        let event = try await rig.one.event("bath: open").event
        #expect(event.topic == "/home/bath/door" && event.body == "7.0 %")
        #expect(await rig.one.server.banners.next(within: .seconds(20))?.title == "bath: open")
        let row = try #require(try await rows(rig.one).first)
        #expect(row.details["via"]?.string == "mqtt:/map" && row.details["urgency"]?.integer() == 2)
        #expect(row.details["source"]?.string == "local:map:home/{room}/door")
    }

    /// On a full disk, what can never be taken stays with the broker until its dead letter is kept, and what comes
    /// behind it too.
    @Test(.link(1, rest: doors)) func onAFullDiskRubbishIsNotAcknowledged() async throws {
        try await rig.broker.publish(#"{"state": "first"}"#, to: "home/bath/door")
        try await rig.one.hears("bath: first")
        try await rig.one.limitFiles("0:unlimited")
        try await rig.broker.publish("no JSON", to: "home/bath/door")
        try await rig.broker.publish(#"{"state": "second"}"#, to: "home/bath/door")
        try await rig.one.until("it is told") {
            try await rig.one.bridge.problems().contains { $0.contains("its state cannot be written") }
        }
        #expect(try await rig.one.bridge.property("DeadLetters")?.integer() == 0)
        try await rig.one.limitFiles("unlimited")
        try await rig.one.hears("bath: second")
        try await rig.one.until("DeadLetters", is: 1)
        #expect(try await rig.one.titles() == ["bath: first", "bath: second"])
    }

    /// Only what is linked goes to the other devices, and repeats are told by their id, there too.
    @Test func mappedEventsStayHereUnlessTheyAreLinked() async throws {
        let maps = """
            [[map]]
            filter = "linked/#"
            topic = "/linked"
            title = "{{title}}"
            id = "context.id"
            link = true
            [[map]]
            filter = "here/#"
            topic = "/here"
            title = "{{title}}"
            """
        try await withLink(isStarted: false) { rig in
            // The second device has no map: what it hears comes by the link.
            try rig.one.bridge.configure(LinkRig.configuration(rig.broker, "desk", rest: maps))
            try await rig.start()
            try await rig.broker.publish(#"{"title": "here"}"#, to: "here/x")
            try await rig.one.hears("here")
            for _ in 1...3 {
                try await rig.broker.publish(#"{"title": "one", "context": {"id": "a"}}"#, to: "linked/x")
            }
            try await rig.broker.publish(#"{"title": "two", "context": {"id": "b"}}"#, to: "linked/x")
            try await rig.two.hears("two")
            try await rig.one.hears("two")
            #expect(try await rig.one.titles() == ["here", "one", "two"])
            #expect(try await rig.two.titles() == ["one", "two"])
            #expect(try await rows(rig.two).first?.details["source"]?.string == "map:linked/#")
        }
    }

    @Test func whatTheBrokerKeepsIsAValueAndNoNews() async throws {
        let maps = """
            [[map]]
            filter = "state/{name}"
            topic = "/state/{name}"
            retain = true
            [[map]]
            filter = "news/{name}"
            topic = "/news/{name}"
            """
        try await withLink(1, rest: maps, isStarted: false) { rig in
            try await rig.broker.publish("on", to: "state/lamp", "-r")
            try await rig.broker.publish("old", to: "news/lamp", "-r")
            try await rig.one.bridge.start()
            try await rig.one.until("the value is known") { try await rows(rig.one).count == 1 }
            try await rig.broker.publish("new", to: "news/lamp")
            try await rig.broker.publish("off", to: "state/lamp", "-r")
            try await rig.one.until("the news are known") { try await rows(rig.one).count == 3 }
            let found = try await rows(rig.one)
            #expect(found.map { $0.details["body"]?.string } == ["on", "new", "off"])
            #expect(found.map { $0.details["retained"]?.boolean ?? false } == [true, false, true])
            #expect(found.first?.details["silent"]?.string == "publisher")
            try await rig.broker.publish("", to: "state/lamp", "-r")
            try await rig.one.until("it is removed") {
                try await rig.one.client.journalChanges().changes.contains {
                    $0.kind == "removed" && $0.topic == "/state/lamp" && $0.details["cause"]?.string == "publisher"
                }
            }
        }
    }

    @Test(.link(1, rest: doors)) func rubbishIsADeadLetterAndHoldsUpNothing() async throws {
        for text in [
            "rubbish", "[1,2]", "{\"state\":", String(repeating: "x", count: 66_000),
            String(repeating: "x", count: 300_000), "",
        ] {
            try await rig.broker.publish(text, to: "home/bath/door")
        }
        try await rig.broker.publish("{}", to: "home/a*b/door")
        try await rig.broker.publish(#"{"state": "open"}"#, to: "home/bath/door")
        try await rig.one.hears("bath: open")
        try await rig.one.until("DeadLetters", is: 7)
        #expect(try await rig.one.titles() == ["bath: open"])
        #expect(!rig.one.bridge.log.contains("rubbish"), "the log has the text of a message")
    }

    /// The broker is told only when notifyd has it on disk, and keeps it until then.
    @Test(.link(1, rest: doors)) func nothingIsLostWhileNotifydOrTheBridgeIsAway() async throws {
        try await rig.broker.publish(#"{"state": 0}"#, to: "home/bath/door")
        try await rig.one.hears("bath: 0")
        await rig.one.daemon.kill()
        for number in 1...20 { try await rig.broker.publish("{\"state\": \(number)}", to: "home/bath/door") }
        try await rig.one.daemon.start()
        try await rig.one.hears("bath: 20")
        #expect(try await rig.one.titles() == (0...20).map { "bath: \($0)" })
        await rig.one.bridge.kill()
        for number in 21...40 { try await rig.broker.publish("{\"state\": \(number)}", to: "home/bath/door") }
        try rig.one.bridge.launch()
        try await rig.one.hears("bath: 40")
        #expect(try await rig.one.titles() == (0...40).map { "bath: \($0)" })
    }

    @Test func aChattySensorIsBoundedAndTold() async throws {
        let values = """
            [[map]]
            filter = "sensor/{name}"
            topic = "/sensor/{name}"
            retain = true
            """
        try await withLink(1, rest: Self.doors + "\n" + values) { rig in
            let lines = (1...600).map { "{\"state\": \($0)}\n" }.joined()
            for topic in ["home/bath/door", "sensor/bath"] {
                let file = try rig.broker.folder.write(lines, to: "lines")
                try await runToEnd(
                    "/bin/sh", ["-c", "mosquitto_pub --unix \(rig.broker.socket) -q 1 -t \(topic) -l < \(file)"])
            }
            // The newest value comes in the end; of events, those that are too many are dropped.
            try await rig.one.until("the last value is known", within: .seconds(90)) {
                try await rows(rig.one).contains { $0.details["body"]?.string == #"{"state": 600}"# }
            }
            try await rig.one.until("it is told") { rig.one.bridge.log.contains("more than 10 a second") }
            let count = try await rows(rig.one).count
            #expect(count >= 200 && count < 1200, "\(count)")
            // It goes on.
            try await rig.one.until("there is room again", within: .seconds(30)) {
                try await rig.broker.publish(#"{"state": "last"}"#, to: "home/bath/door")
                return try await rig.one.titles().contains("bath: last")
            }
        }
    }

    @Test func theMostSpecificMapTakesAMessageOnce() async throws {
        let all = """
            [[map]]
            filter = "home/#"
            topic = "/home"
            title = "{{payload}}"
            """
        try await withLink(1, rest: all + "\n" + Self.doors) { rig in
            try await rig.broker.publish(#"{"state": "open"}"#, to: "home/bath/door")
            try await rig.broker.publish("lamp", to: "home/bath/lamp")
            try await rig.one.hears("lamp")
            #expect(try await rig.one.titles() == ["bath: open", "lamp"])
        }
    }

    /// What is left out does not count against the rate, and a silent message with the same member takes the earlier
    /// one back.
    @Test func anEndTakesBackWhatItEnds() async throws {
        let maps = """
            [[map]]
            filter = "frigate/events"
            topic = "/camera"
            title = "{{type}} {{after.id}}"
            except = { type = "update" }
            silent = { type = "end" }
            collapse = "after.id"
            """
        func message(_ type: String, _ id: Int) -> String { "{\"type\": \"\(type)\", \"after\": {\"id\": \(id)}}" }
        try await withLink(1, rest: maps) { rig in
            try await rig.broker.publish(message("new", 1), to: "frigate/events")
            try await rig.broker.publish(message("new", 2), to: "frigate/events")
            func outcomes(_ outcome: String) async throws -> Int {
                try await rig.one.client.journalChanges().changes.filter {
                    $0.kind == "outcome" && $0.details["outcome"]?.string == outcome
                }.count
            }
            try await rig.one.until("both have a banner") { try await outcomes("shown") == 2 }
            let file = try rig.broker.folder.write(
                String(repeating: message("update", 1) + "\n", count: 300), to: "updates")
            try await runToEnd(
                "/bin/sh", ["-c", "mosquitto_pub --unix \(rig.broker.socket) -q 1 -t frigate/events -l < \(file)"])
            try await rig.broker.publish(message("end", 1), to: "frigate/events")
            try await rig.one.until("one is replaced") { try await outcomes("replaced") == 1 }
            // The bridge need not remember anything.
            await rig.one.bridge.stop()
            try await rig.one.bridge.start()
            try await rig.broker.publish(message("end", 2), to: "frigate/events")
            try await rig.one.until("the banner is closed") { rig.one.server.showing.isEmpty }
            #expect(try await outcomes("replaced") == 2)
            // The broker sends "end 1" again if the bridge was stopped before its acknowledgement.
            #expect(try await Set(rig.one.titles()) == ["new 1", "new 2", "end 1", "end 2"])
        }
    }

    /// A door that is still open when the bridge starts again keeps its banner, and its closing removes it.
    @Test func aValueThatIsHeardAgainKeepsItsBanner() async throws {
        let maps = """
            [[map]]
            filter = "state/{name}"
            topic = "/state/{name}"
            title = "{{name}} {{payload}}"
            retain = true
            collapse = "name"
            banner = { payload = "on" }
            """
        try await withLink(1, rest: maps) { rig in
            try await rig.broker.publish("on", to: "state/door", "-r")
            try await rig.one.until("there is a banner") { rig.one.server.showing.first?.title == "door on" }
            try await rig.broker.publish("on", to: "state/door", "-r")
            await rig.one.bridge.stop()
            try await rig.one.bridge.start()
            try await rig.one.until("it is heard again") { try await rows(rig.one).count == 2 }
            #expect(rig.one.server.showing.count == 1)
            try await rig.broker.publish("off", to: "state/door", "-r")
            try await rig.one.until("the banner is closed") { rig.one.server.showing.isEmpty }
            #expect(try await rig.one.titles() == ["door on", "door on", "door off"])
        }
    }

    // MARK: Out

    @Test func eventsGoOut() async throws {
        let maps = """
            [[map]]
            publish = "desk/events"
            topics = ["/build"]
            [[map]]
            publish = "desk/short"
            topics = ["/build/app"]
            payload = '{"message": {{json.title}}, "who": "{{who}}"}'
            """
        try await withLink(1, rest: maps) { rig in
            let all = try await listener("desk/events", rig.broker)
            let short = try await listener("desk/short", rig.broker)
            defer {
                all.signal(SIGKILL)
                short.signal(SIGKILL)
            }
            try await begin(rig.one, at: "/build/app", short)
            try await rig.one.client.publish("/other", title: "not this", options: Self.silent)
            try await rig.one.client.publish(
                "/build/app", title: "say \"done\"", fields: ["who": "Mina"], options: Self.silent)
            #expect(
                await short.lines(of: 1).next(within: .seconds(20)) { $0.contains("Mina") }
                    == #"{"message": "say \"done\"", "who": "Mina"}"#)
            let line = await all.lines(of: 1).next(within: .seconds(20)) { $0.contains("Mina") }
            #expect(line?.hasPrefix(#"{"topic":"/build/app","title":"say \"done\"","#) == true)
            #expect(!all.lines(of: 1).all.contains { $0.contains("not this") })
        }
    }

    /// Returns when events go out. What was published before the bridge begins does not.
    private func begin(_ device: LinkedDevice, at topic: String, _ listener: ChildProcess) async throws {
        for _ in 1...100 {
            try await device.client.publish(topic, title: "begin", options: Self.silent)
            let line = await listener.lines(of: 1).next(within: .milliseconds(200)) { $0.contains("begin") }
            if line != nil { return }
        }
        throw RehearsalError("Nothing goes out. \(device.bridge.log)")
    }

    /// What was published while the broker was away goes out when it is back, in order.
    @Test func whatWaitsForTheBrokerGoesOutLater() async throws {
        var settings = TestBroker.Settings()
        settings.isPersistent = true
        let maps = "[[map]]\npublish = \"desk/events\"\ntopics = [\"/\"]\npayload = \"{{title}}\"\n"
        try await withLink(1, broker: settings, rest: maps) { rig in
            let before = try await listener("desk/events", rig.broker)
            try await begin(rig.one, at: "/a", before)
            before.signal(SIGKILL)
            // A session that outlives the broker hears everything.
            let arguments = ["--unix", rig.broker.socket, "-q", "1", "-c", "-i", "witness", "-t", "desk/events"]
            let witness = try ChildProcess(
                "/usr/bin/mosquitto_sub", arguments + ["-E"], environment: ["PATH": "/usr/bin:/bin"], capturing: [1])
            #expect(await witness.waitForExit() == .code(0))
            await rig.broker.stop()
            try await rig.one.untilBrokerIsMissed()
            let titles = (1...60).map { "\($0)" }
            for title in titles { try await rig.one.client.publish("/a", title: title, options: Self.silent) }
            try await rig.broker.start()
            let all = try ChildProcess(
                "/usr/bin/mosquitto_sub", arguments, environment: ["PATH": "/usr/bin:/bin"], capturing: [1])
            defer { all.signal(SIGKILL) }
            #expect(await all.lines(of: 1).next(within: .seconds(60)) { $0 == "60" } != nil)
            #expect(all.lines(of: 1).all.filter { titles.contains($0) } == titles)
        }
    }

    /// Two devices that map to each other's topics: what came in by a map goes out by none.
    @Test func mapsMakeNoLoops() async throws {
        func maps(_ out: String, _ filter: String) -> String {
            """
            [[map]]
            publish = "\(out)/events"
            topics = ["/"]
            payload = "{{title}}"
            [[map]]
            filter = "\(filter)/events"
            topic = "/in"
            title = "{{payload}}"
            link = true
            """
        }
        try await withLink(isStarted: false) { rig in
            try rig.one.bridge.configure(LinkRig.configuration(rig.broker, "desk", rest: maps("one", "two")))
            try rig.two.bridge.configure(LinkRig.configuration(rig.broker, "laptop", rest: maps("two", "one")))
            try await rig.start()
            let all = try await listener("one/events", rig.broker)
            defer { all.signal(SIGKILL) }
            try await begin(rig.one, at: "/a", all)
            for number in 1...5 { try await rig.one.client.publish("/a", title: "\(number)", options: Self.silent) }
            // They come by the map of the other device, and by the link from there.
            try await rig.two.until("all came by the map") { try await rig.two.titles("/in").last == "5" }
            try await rig.one.until("and by the link") { try await rig.one.titles("/in").last == "5" }
            try await rig.one.client.publish("/a", title: "after", options: Self.silent)
            #expect(await all.lines(of: 1).next(within: .seconds(20)) { $0 == "after" } != nil)
            let said = all.lines(of: 1).all.filter { $0 != "probe" && $0 != "begin" }
            #expect(said == ["1", "2", "3", "4", "5", "after"])
        }
    }
}
