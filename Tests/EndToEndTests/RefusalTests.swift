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
}
