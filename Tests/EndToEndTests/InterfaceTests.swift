import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What the daemon says of its interface is what the contract says, to the letter; the order of attributes does not
/// count.
@Suite(.timeLimit(.minutes(1))) struct InterfaceTests {
    @Test func theDaemonOffersTheContractAndNothingElse() async throws {
        let contract = try Project.text("systemd/org.notifyd.Router1.xml")
        try await withRig { rig in
            let connection = try await Connection.open(rig.bus.address)
            defer { connection.close() }
            let answer = try await connection.call(
                .call("Introspect", of: "org.freedesktop.DBus.Introspectable", at: Router.path, on: Router.name))
            let offered = try #require(answer.arguments.first?.string)
            let own = try interfaceMembers(of: Router.interface, in: offered)
            #expect(try own == interfaceMembers(of: Router.interface, in: contract) && !own.isEmpty)
        }
    }
}

/// What is wrong is refused by name, and the daemon goes on.
@Suite(.timeLimit(.minutes(1))) struct RefusalTests {
    private let rig: Rig! = Fixture.current()

    private func error(_ member: String, _ arguments: [Value]) async throws -> String? {
        let connection = try await Connection.open(rig.bus.address)
        defer { connection.close() }
        return await refusal { try await connection.call(.toRouter(member, arguments)) }?.name
    }

    /// The daemon is still the same one, and still does its work.
    private func expectAlive() async throws {
        let id = try await rig.client.send("/post/1", title: "still here")
        #expect(try await rig.client.claim(id) == .suppressed)
    }

    @Test(.rig) func aMissingFieldIsNamed() async throws {
        let missing = await refusal { try await rig.client.send("/run/r1/invite") }
        #expect(missing?.shortName == "InvalidEvent")
        #expect(missing?.message.contains("'from'") == true && missing?.message.contains("Publish") == true)
        let wrong = await refusal { try await rig.client.publish("/run/r1/invite", fields: ["from": .int32(7)]) }
        #expect(wrong?.shortName == "InvalidEvent")
        try await expectAlive()
    }

    @Test(.rig) func wrongTypesAreInvalidArguments() async throws {
        let calls: [(String, [Value])] = [
            ("Send", []), ("Send", ["/post/1"]), ("Send", [.int32(1), "", ""]), ("Send", ["/post/1", "", "", ""]),
            ("Publish", ["/post/1", "", ""]), ("Claim", ["27"]), ("Claim", [.uint32(27)]), ("Claim", []),
        ]
        for (member, arguments) in calls {
            let name = try await error(member, arguments)
            #expect(name == "org.freedesktop.DBus.Error.InvalidArgs", "\(member) \(arguments)")
        }
        #expect(try await error("NoSuchMethod", []) == "org.freedesktop.DBus.Error.UnknownMethod")
        try await expectAlive()
    }
}

/// The limits that are checked where a message is read: at the limit accepted, one more refused by name.
@Suite(.timeLimit(.minutes(1))) struct LimitTests {
    private let rig: Rig! = Fixture.current()

    /// A call at its limit and one beyond, with what the refusal is called and says.
    private struct Edge: Sendable {
        let error: String
        let says: String
        let call: @Sendable (Int) -> (member: String, arguments: [Value])
        let limit: Int

        init(_ error: String, _ says: String, _ limit: Int, _ call: @escaping @Sendable (Int) -> (String, [Value])) {
            (self.error, self.says, self.limit, self.call) = (error, says, limit, { call($0) })
        }
    }

    private static let edges = [
        Edge("TooLarge", "1024", 1024) { ("Send", ["/a", text($0), ""]) },
        Edge("TooLarge", "8192", 8192) { ("Send", ["/a", "", text($0)]) },
        // "/a", and the field's name and text with four bytes of length and a zero each.
        Edge("TooLarge", "65536", 65_536 - 2 - 6 - 5) { publish(["f": text($0)]) },
        Edge("InvalidEvent", "64", 64) {
            publish(Dictionary(uniqueKeysWithValues: (1...$0).map { ("f\($0)", Value.int32(1)) }))
        },
        Edge("InvalidEvent", "4 containers", 4) { publish(["f": nested($0)]) },
        Edge("InvalidEvent", "1 to 256", 256) { publish([:], ["source": text($0)]) },
        Edge("InvalidEvent", "1 to 256", 256) { publish([:], ["event-id": text($0)]) },
        Edge("InvalidEvent", "60000", 60_000) { publish([:], ["window": .uint32(UInt32($0))]) },
        Edge("InvalidEvent", "2419200", 28 * 24 * 3600) { publish([:], ["ttl": .uint32(UInt32($0))]) },
        Edge("InvalidTopic", "64", 64) { ("Send", [.string("/" + letters($0)), "", ""]) },
        Edge("InvalidTopic", "16", 16) { ("Send", [.string(String(repeating: "/a", count: $0)), "", ""]) },
        Edge("InvalidTopic", "255", 255) {
            ("Send", [.string(String(repeating: "/" + letters(50), count: 4) + "/" + letters($0 - 205)), "", ""])
        },
        Edge("LimitExceeded", "10s", 10_000) { ("ClaimTopic", ["/a", .uint32(UInt32($0))]) },
        Edge("LimitExceeded", "256", 256) { ("OpenScreen", [.string("/screen/\($0)"), .variants([:])]) },
    ]

    @Test(.rig) func whatReachesALimitIsAcceptedAndOneMoreIsRefused() async throws {
        let connection = try await Connection.open(rig.bus.address)
        defer { connection.close() }
        for edge in Self.edges {
            let counts = edge.error == "LimitExceeded" && edge.limit == 256 ? Array(1...256) : [edge.limit]
            for count in counts {
                let refusal = await refusal(of: edge.call(count), over: connection)
                #expect(refusal == nil, "\(edge.error) \(edge.says)")
            }
            let refusal = await refusal(of: edge.call(edge.limit + 1), over: connection)
            #expect(refusal?.shortName == edge.error, "\(edge.says)")
            #expect(refusal?.message.contains(edge.says) == true, "\(refusal?.message ?? "nothing")")
        }
    }

    /// What a message says of its own size is worth nothing: even what is empty takes room.
    @Test(.rig) func messagesThatGrowOnlyWhenTheyAreReadAreTooLarge() async throws {
        let connection = try await Connection.open(rig.bus.address)
        defer { connection.close() }
        let empty = Value.strings(Array(repeating: "", count: 20_000))
        let huge = Value.string(String(repeating: "x", count: 4 << 20))
        for call in [Self.publish(["f": empty]), Self.publish(["f": huge]), ("Send", ["/a", huge, ""])] {
            let refusal = await refusal(of: call, over: connection)
            #expect(refusal?.shortName == "TooLarge", "\(refusal?.message ?? "nothing")")
        }
    }

    /// Long events come in short pages, and a reader still gets them all.
    @Test(.rig) func aPageEndsBeforeItIsTooLongAndTheStreamGoesOn() async throws {
        let start = try await rig.client.snapshot("/").cursor
        let body = String(repeating: "x", count: 8192)
        let field = Value.string(String(repeating: "y", count: 50_000))
        for number in 1...120 {
            _ = try await rig.client.publish("/long/\(number)", body: body, fields: ["f": field])
        }
        let page = try await rig.client.history("/", after: start)
        #expect((1..<120).contains(page.count))
        var count = 0
        for try await _ in try await rig.client.allEvents(at: "/long", after: start) {
            count += 1
            if count == 120 { break }
        }
        #expect(count == 120)
    }

    private func refusal(
        of call: (member: String, arguments: [Value]), over connection: Connection
    ) async -> NotifyError? {
        await NotifyTestSupport.refusal { try await connection.call(.toRouter(call.member, call.arguments)) }
    }

    private static func letters(_ count: Int) -> String { String(repeating: "x", count: count) }
    private static func text(_ count: Int) -> Value { .string(letters(count)) }

    private static func publish(_ fields: [String: Value], _ options: [String: Value] = [:]) -> (String, [Value]) {
        ("Publish", ["/a", "", "", .variants(fields), .variants(options)])
    }

    private static func nested(_ depth: Int) -> Value {
        (1..<depth).reduce(Value.strings(["innermost"])) { inner, _ in .array([inner], of: inner.type) }
    }
}
