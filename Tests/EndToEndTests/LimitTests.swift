import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The limits that are checked where a message is read: at the limit accepted, one more refused by name.
@Suite(.timeLimit(.minutes(1))) struct LimitTests {
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

    @Test func whatReachesALimitIsAcceptedAndOneMoreIsRefused() async throws {
        try await withRig { rig in
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
    }

    /// What a message says of its own size is worth nothing: even what is empty takes room.
    @Test func messagesThatGrowOnlyWhenTheyAreReadAreTooLarge() async throws {
        try await withRig { rig in
            let connection = try await Connection.open(rig.bus.address)
            defer { connection.close() }
            let empty = Value.strings(Array(repeating: "", count: 20_000))
            let huge = Value.string(String(repeating: "x", count: 4 << 20))
            for call in [Self.publish(["f": empty]), Self.publish(["f": huge]), ("Send", ["/a", huge, ""])] {
                let refusal = await refusal(of: call, over: connection)
                #expect(refusal?.shortName == "TooLarge", "\(refusal?.message ?? "nothing")")
            }
        }
    }

    /// Long events come in short pages, and a reader still gets them all.
    @Test func aPageEndsBeforeItIsTooLongAndTheStreamGoesOn() async throws {
        try await withRig { rig in
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
    }

    private func refusal(
        of call: (member: String, arguments: [Value]), over connection: Connection
    ) async -> NotifyError? {
        do throws(NotifyError) {
            _ = try await connection.call(
                .call(call.member, of: Router.interface, at: Router.path, on: Router.name, call.arguments))
            return nil
        } catch {
            return error
        }
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
