import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What is wrong is refused by name, and the daemon goes on.
@Suite(.timeLimit(.minutes(1))) struct RefusalTests {
    private func error(_ rig: Rig, _ member: String, _ arguments: [Value]) async throws -> String? {
        let connection = try await Connection.open(rig.bus.address)
        defer { connection.close() }
        do throws(NotifyError) {
            _ = try await connection.call(
                .call(member, of: Router.interface, at: Router.path, on: Router.name, arguments))
            return nil
        } catch {
            #expect(!error.message.isEmpty)
            return error.name
        }
    }

    /// The daemon is still the same one, and still does its work.
    private func expectAlive(_ rig: Rig) async throws {
        let id = try await rig.client.send("/post/1", title: "still here")
        #expect(try await rig.client.claim(id) == .suppressed)
    }

    @Test func badTopicsAreInvalidTopic() async throws {
        try await withRig { rig in
            let topics = [
                "", "post/27", "/", "/post/", "//post", "/post//27", "/a'b", "/a\\b", "/{id}", "/a*", "/a\nb",
                "/a\u{7f}",
                "/" + String(repeating: "x", count: 65), String(repeating: "/a", count: 17),
                String(repeating: "/" + String(repeating: "x", count: 50), count: 6),
            ]
            for topic in topics {
                let name = try await error(rig, "Send", [.string(topic), "title", "body"])
                #expect(name == "org.notifyd.Router1.Error.InvalidTopic", "'\(topic)'")
            }
            try await expectAlive(rig)
        }
    }

    @Test func whatIsTooLargeIsTooLarge() async throws {
        try await withRig { rig in
            let long = { (count: Int) in Value.string(String(repeating: "x", count: count)) }
            #expect(try await error(rig, "Send", ["/post/1", long(1024), long(8192)]) == nil)
            for arguments in [["/post/1", long(1025), ""], ["/post/1", "", long(8193)]] {
                #expect(try await error(rig, "Send", arguments) == "org.notifyd.Router1.Error.TooLarge")
            }
            let fields = Value.variants(["big": long(65_536)])
            #expect(
                try await error(rig, "Publish", ["/post/1", "", "", fields, .variants([:])])
                    == "org.notifyd.Router1.Error.TooLarge")
            try await expectAlive(rig)
        }
    }

    @Test func tooManyFieldsAreRefusedByName() async throws {
        try await withRig { rig in
            let fields = Dictionary(uniqueKeysWithValues: (1...65).map { ("field\($0)", Value.int32(1)) })
            let name = try await error(rig, "Publish", ["/post/1", "", "", .variants(fields), .variants([:])])
            #expect(name?.hasPrefix("org.notifyd.Router1.Error.") == true)
            try await expectAlive(rig)
        }
    }

    @Test func badOptionsAreInvalidEvent() async throws {
        try await withRig { rig in
            let options: [[String: Value]] = [
                ["bogus": true], ["ttl": "soon"], ["ttl": .int32(-1)], ["ttl": .uint32(28 * 24 * 3600 + 1)],
                ["window": .uint32(60_001)], ["window": .int32(-1)], ["banner": .int32(1)], ["urgency": .byte(3)],
                ["source": .string("")], ["event-id": .int32(17)],
                ["via": ""], ["via": .string(String(repeating: "x", count: 65))], ["via": .int32(1)],
            ]
            for option in options {
                let name = try await error(rig, "Publish", ["/post/1", "", "", .variants([:]), .variants(option)])
                #expect(name == "org.notifyd.Router1.Error.InvalidEvent", "\(option)")
            }
            try await expectAlive(rig)
        }
    }

    @Test func aMissingFieldIsNamed() async throws {
        try await withRig { rig in
            let refusal = await #expect(throws: NotifyError.self) { try await rig.client.send("/run/r1/invite") }
            #expect(refusal?.shortName == "InvalidEvent")
            #expect(refusal?.message.contains("'from'") == true)
            #expect(refusal?.message.contains("Publish") == true)
            let wrong = await #expect(throws: NotifyError.self) {
                try await rig.client.publish("/run/r1/invite", fields: ["from": .int32(7)])
            }
            #expect(wrong?.shortName == "InvalidEvent")
            try await expectAlive(rig)
        }
    }

    @Test func wrongTypesAreInvalidArguments() async throws {
        try await withRig { rig in
            let calls: [(String, [Value])] = [
                ("Send", []), ("Send", ["/post/1"]), ("Send", [.int32(1), "", ""]), ("Send", ["/post/1", "", "", ""]),
                ("Publish", ["/post/1", "", ""]), ("Claim", ["27"]), ("Claim", [.uint32(27)]), ("Claim", []),
            ]
            for (member, arguments) in calls {
                let name = try await error(rig, member, arguments)
                #expect(name == "org.freedesktop.DBus.Error.InvalidArgs", "\(member) \(arguments)")
            }
            #expect(try await error(rig, "NoSuchMethod", []) == "org.freedesktop.DBus.Error.UnknownMethod")
            try await expectAlive(rig)
        }
    }

    @Test func anUnknownIdIsUnknownEvent() async throws {
        try await withRig { rig in
            let id = try await rig.client.send("/post/1")
            for wrong in [0, 1, id.rawValue + 1, .max] {
                let name = try await error(rig, "Claim", [.uint64(wrong)])
                #expect(name == "org.notifyd.Router1.Error.UnknownEvent")
            }
            #expect(try await rig.client.claim(id) == .suppressed)
            try await expectAlive(rig)
        }
    }
}
