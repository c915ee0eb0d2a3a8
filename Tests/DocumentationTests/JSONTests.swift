import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What `notifyctl --json` writes is what its manual page promises.
@Suite(.timeLimit(.minutes(1))) struct JSONTests {
    private let rig: Rig! = Fixture.current()

    @Test(.rig) func everyMemberIsInTheManual() async throws {
        let first = try await rig.client.publish("/post/27", title: "Title", fields: ["from": "Mina"])
        #expect(await rig.listener.resolution(of: first)?.outcome == "shown")
        let screen = try await rig.client.openScreen("/chat", mode: .ask)
        try await check("send", rig, "/post/28", "Title", "--wait")
        try await check("send", rig, "/run/r1/mate/Mina", "--retain", "--source", "a", "--event-id", "b")
        try await check("snooze", rig, "\(first)", "10m")
        try await check("why", rig, "\(first)")
        try await check("claim", rig, "\(first)")
        try await check("withdraw", rig, "\(first)")
        try await check("claim-topic", rig, "/post")
        try await check("mark-read", rig, "/post")
        for command in ["show", "why"] { try await check(command, rig, "\(first)") }
        try await check("history", rig)
        let history = try rig.start(arguments: ["history", "/run", "--json=short"])
        let live = try #require(await history.allLines(of: 1)).joined()
        #expect(live.contains(#""source":"a""#) && live.contains(#""event-id":"b""#), "\(live)")
        try await check("listen", rig, "--since", "0", "-n", "3", "--claim")
        try await check("watch", rig, "/", "-n", "1")
        try await check("replay", rig)
        try await check("mute", rig, "/", "10m")
        try await check("quiet", rig)
        try await checkBridges(rig)
        try await check("mute", rig, "/post", "0")
        try await check("pause", rig, "10m")
        for command in ["pause", "resume", "status"] { try await check(command, rig) }
        try await rig.client.publish("/post/29", options: PublishOptions(window: .seconds(60)))
        try await check("top", rig)
        try await check("config check", rig)
        try await check("doctor", rig, exit: 1)
        try await check("demo", rig)
        await screen.close()
    }

    @Test func theDemoOfTheLinkIsInTheManual() async throws {
        try await withRig { rig in try await check("demo link", rig) }
    }

    @Test(.rig) func aScreenAndItsQuestionsAreInTheManual() async throws {
        let process = try rig.start("screen", "/chat", "--mode", "ask", "--json=short")
        let opened = try #require(await process.lines(of: 1).next(within: .seconds(10)))
        try await rig.client.publish("/chat/1", title: "Title")
        let question = try #require(await process.lines(of: 1).next(within: .seconds(10)))
        await process.end()
        try check([opened, question], of: "screen")
    }

    private func checkBridges(_ rig: Rig) async throws {
        let bridge = try await Connection.open(rig.bus.address)
        defer { bridge.close() }
        bridge.export("org.freedesktop.DBus.Properties") { call in
            let peer: [String: Value] = ["device": "d", "name": "desk", "online": true]
            call.reply([
                .variants([
                    "State": "connected",
                    "Peers": .array([.variants(peer)], of: .dictionary(keys: .string, values: .variant)),
                ])
            ])
        }
        bridge.export("org.notifyd.Bridge1") { call in
            let letter = Value.structure([.uint64(1), .int64(2), "/a", "desk", "too large", .uint64(3)])
            call.reply([
                call.message.member == "Forget" ? .uint64(1) : .array([letter], of: ValueType(signature: "(txssst)")!)
            ])
        }
        try await bridge.requestName("org.notifyd.Bridge.test")
        try await check("bridges", rig)
        try await check("bridges", rig, "test", "--dead-letters")
        try await check("bridges", rig, "--forget")
        try await check("status", rig)
    }

    /// Runs a command, and looks up every member of what it writes.
    private func check(_ command: String, _ rig: Rig, _ arguments: String..., exit: CInt = 0) async throws {
        let words = command.split(separator: " ").map(String.init)
        let process = try rig.start(arguments: words + arguments + ["--json=short"])
        #expect(await process.waitForExit(within: .seconds(60)) == .code(exit))
        try check(try #require(await process.allLines(of: 1)), of: command)
    }

    private func check(_ lines: [String], of command: String) throws {
        let promised = try promised(command)
        #expect(!lines.isEmpty, "\(command) wrote nothing")
        for line in lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            for name in Self.names(in: object) where !promised.contains(name) {
                Issue.record("notifyctl(1) says nothing of \(name) in the JSON of \(command)")
            }
        }
    }

    private func promised(_ command: String) throws -> Set<String> {
        let items = try ManualPage("docs/notifyctl.1").items.filter { $0.heading == "JSON OUTPUT" }
        let base = ["watch": ["listen"], "screen": ["listen"], "status": ["bridges"]][
            command, default: []]
        let entries = items.filter { item in
            ([command] + base).contains { item.text.components(separatedBy: " , ").contains($0) }
        }
        return Set(entries.flatMap(\.literals))
    }

    /// The names of members, those of objects in lists included. What is in other objects has names of its own making.
    private static func names(in value: Any) -> [String] {
        if let list = value as? [Any] { return list.flatMap(names) }
        guard let object = value as? [String: Any] else { return [] }
        return Array(object.keys) + object.values.compactMap { $0 as? [Any] }.flatMap(names)
    }
}
