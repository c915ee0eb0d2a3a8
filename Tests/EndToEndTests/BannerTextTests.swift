import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What the banner of an event says is in the output of `notifyctl`, and in the environment of its commands.
@Suite(.serialized, .timeLimit(.minutes(1))) struct BannerTextTests {
    private let rig: Rig! = Fixture.current()
    private static let template = """
        [[route]]
        topic = "/door/{name}"
        title = "{{name}}: {{title}}"
        body = "{{size}}"
        require = { size = "string" }
        """
    private static let open = PublishOptions(window: .seconds(60))

    private func texts(_ line: String) throws -> [String?] {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        return [object?["summary"] as? String, object?["text"] as? String]
    }

    @Test(.rig) func anEventWithoutATitleIsListedWithTheTextOfItsBanner() async throws {
        let options = Self.open
        try await rig.client.publish("/post/27", options: options)
        try await rig.client.publish("/run/r1/mate/Mina/finished", fields: ["distance": 5000], options: options)
        try await rig.client.publish("/run/r1/invite", fields: ["from": "Mina\u{202E}\u{1b}[2J"], options: options)
        try await rig.client.publish("/post/28", title: "Title", options: options)
        try await rig.client.publish("/log/1", options: PublishOptions(banner: false))

        let history = try await rig.run("history").output
        #expect(history.count == 5)
        #expect(history[0].hasSuffix("  /post/27  New activity on post 27  → undecided"))
        #expect(history[1].contains("  Mina finished  – 5000 m  distance=5000  →"))
        #expect(history[2].contains("  Mina[2J invites you to a run  from="))
        #expect(history[3].hasSuffix("  /post/28  Title  → undecided"))
        #expect(history[4].hasSuffix("  /log/1  → silent"), "a silent event has no banner")
        let json = try await rig.run("history", "--json=short").output
        #expect(try texts(json[0]) == ["New activity on post 27", ""])
        #expect(try texts(json[1]) == ["Mina finished", "5000 m"])
        #expect(try texts(json[3]) == [nil, nil])
        #expect(try texts(json[4]) == [nil, nil])

        let listened = try await rig.run("listen", "--since", "0", "-n", "3").output
        #expect(listened[0].hasSuffix("  /post/27  New activity on post 27"))
        #expect(listened[1].hasSuffix("  Mina finished  – 5000 m  distance=5000"))
        #expect(listened.count == 3)
    }

    @Test(.rig(configuration: template)) func theTextOfASingleEventIsShown() async throws {
        try await rig.client.publish("/door/front", fields: ["size": "large"], options: Self.open)
        let lines = try await rig.run("show", "last").output
        #expect(lines.contains { $0.hasPrefix("  Summary ") && $0.hasSuffix("  front: ") })
        #expect(lines.contains { $0.hasPrefix("  Text ") && $0.hasSuffix("  large") })
        let json = try await rig.run("show", "last", "-j").output.first
        #expect(try texts(try #require(json)) == ["front: ", "large"])
    }

    @Test(.rig) func currentValuesHaveTheTextOfTheirBanners() async throws {
        let options = PublishOptions(retain: true, window: .seconds(60))
        try await rig.client.publish("/run/r1/mate/Mina", fields: ["distance": 7])
        try await rig.client.publish("/post/1", options: options)
        let lines = try await rig.run("watch", "/", "-n", "2").output
        #expect(lines.count == 2)
        #expect(lines[0].hasSuffix("  /run/r1/mate/Mina  distance=7"), "its route is silent")
        #expect(lines[1].hasSuffix("  /post/1  New activity on post 1"))
    }

    @Test(.rig) func aQuestionHasTheTextOfItsBanner() async throws {
        let process = try rig.start("screen", "/post", "--mode", "ask")
        #expect(await process.lines(of: 1).next(within: .seconds(10)) != nil)
        try await rig.client.publish("/post/1", options: Self.open)
        let question = await process.lines(of: 1).next(within: .seconds(10))
        #expect(question?.hasSuffix("  /post/1  New activity on post 1") == true)
        await process.end()
    }

    @Test(.rig) func theOrderOfEventsStays() async throws {
        let count = 100
        let process = try await rig.subscriber(to: "/post") {
            try rig.start("listen", "/post", "-n", "\(count)", "--claim")
        }
        var expected: [String] = []
        for number in 0..<count {
            let title = number % 3 == 0 ? "Title" : ""
            let id = try await rig.client.publish("/post/\(number)", title: title)
            let text = title.isEmpty ? "New activity on post \(number)" : title
            expected.append("\(id)  /post/\(number)  \(text)")
        }
        #expect(await process.waitForExit() == .code(0))
        let lines = try #require(await process.allLines(of: 1))
        #expect(lines.map { $0.split(separator: "  →")[0] } == expected.map { $0[...] })
    }

    @Test(.rig) func theDaemonIsAskedOnlyForEventsWithoutATitle() async throws {
        let (calls, monitor) = try await rig.calls(of: "Render")
        try await rig.client.publish("/post/1", title: "Title", options: Self.open)
        let id = try await rig.client.publish("/post/2", options: Self.open)
        #expect(try await rig.run("history").output.count == 2)
        #expect(await calls.next(within: .seconds(5))?.arguments == [.uint64(id.rawValue)])
        #expect(try await rig.run("show", "last").exit == .code(0))
        #expect(await calls.next(within: .seconds(5))?.arguments == [.uint64(id.rawValue)])
        monitor.close()
    }

    @Test(.rig(configuration: template)) func aCommandGetsWhatTheBannerSays() async throws {
        let process = try await rig.subscriber(to: "/door") {
            try rig.start(
                "listen", "/post", "/door", "--exec",
                #"echo "$NOTIFYD_SUMMARY|$NOTIFYD_TEXT|$NOTIFYD_TITLE|${#NOTIFYD_TEXT}|$NOTIFYD_OMITTED" >&2"#,
                "-n", "3")
        }
        try await rig.client.publish("/post/27", body: "Body", options: Self.open)
        try await rig.client.publish("/door/front", title: "Ring", fields: ["size": "large"], options: Self.open)
        try await rig.client.publish("/post/28", title: "Title", options: PublishOptions(banner: false))
        #expect(await process.waitForExit() == .code(0))
        #expect(
            await process.allLines(of: 2) == [
                "New activity on post 27|Body||4|", "front: Ring|large|Ring|5|", "Title||Title|0|",
            ])
        let lines = try #require(await process.allLines(of: 1))
        #expect(lines.count == 3)
    }

    /// One text is longer than Linux allows for a variable.
    @Test func aTextThatIsTooLongIsOmitted() async throws {
        let configuration = """
            [[route]]
            topic = "/door/{name}"
            body = "\(String(repeating: "{{noise}}", count: 30))"
            require = { noise = "string" }
            """
        try await withRig(configuration: configuration) { rig in
            let process = try await rig.subscriber(to: "/door") {
                try rig.start(
                    "listen", "/door", "--exec", #"echo "$NOTIFYD_OMITTED|$NOTIFYD_SUMMARY|${#NOTIFYD_TEXT}" >&2"#,
                    "-n", "1")
            }
            let noise = String(repeating: "x", count: 8000)
            try await rig.client.publish("/door/1", fields: ["noise": .string(noise)], options: Self.open)
            #expect(await process.waitForExit() == .code(0))
            #expect(await process.allLines(of: 2) == ["NOTIFYD_TEXT NOTIFYD_JSON|News at /door/1|0"])
        }
    }
}
