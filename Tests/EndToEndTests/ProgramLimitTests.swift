import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Limits that a program keeps when it connects again, and replies that nobody reads.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ProgramLimitTests {
    private let rig: Rig! = Fixture.current()

    /// The limit is 1,000, and a grace outlives its connection.
    @Test(.rig) func aProgramThatConnectsAgainGetsNoMoreThanBefore() async throws {
        // The bus is asked for the program of a connection at its first call.
        _ = try await rig.client.unread("/")
        for half in 0..<2 {
            let client = try await NotifyClient(address: rig.bus.address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        _ = try await client.claimTopic("/post/\(half)/\(number)", grace: .seconds(10))
                    }
                }
                try await group.waitForAll()
            }
            await client.close()
        }
        let refusal = await #expect(throws: NotifyError.self) {
            try await rig.client.claimTopic("/post", grace: .seconds(10))
        }
        #expect(
            refusal?.message.lowercased().hasPrefix("topic claims with a grace of one program: 1000") == true,
            "\(refusal as Any)")
    }

    /// The limit is 2,500, and 256 of a connection.
    @Test(.rig) func theFirstCallOfANewConnectionCountsForItsProgram() async throws {
        var clients: [NotifyClient] = []
        var screens: [Screen] = []
        for part in 0..<10 {
            let client = try await NotifyClient(address: rig.bus.address)
            clients.append(client)
            try await withThrowingTaskGroup(of: Screen.self) { group in
                for number in 0..<250 { group.addTask { try await client.openScreen("/run/\(part)/\(number)") } }
                for try await screen in group { screens.append(screen) }
            }
        }
        clients.append(try await NotifyClient(address: rig.bus.address))
        let refusal = await #expect(throws: NotifyError.self) { _ = try await clients[10].openScreen("/run") }
        #expect(refusal?.message.lowercased().hasPrefix("screens of one program: 2500") == true, "\(refusal as Any)")
        withExtendedLifetime(screens) {}
        for client in clients { await client.close() }
    }

    /// A program may have 16 MiB of undecided events, some 1,800 of these, and all together 64 MiB.
    @Test(.rig(configuration: "[defaults]\nwindow = \"60s\"\n")) func manyConnectionsAtOnceGetNoMoreThanOne()
        async throws
    {
        var writer = WireWriter()
        writer.string("/flood")
        writer.string(String(repeating: "t", count: 1_000))
        writer.string(String(repeating: "b", count: 8_000))
        let body = writer.bytes
        let calls = (0..<150).flatMap { number in
            var call = WireMessage(flags: 1, serial: UInt32(number + 2), member: "Send")
            call.signature = "sss"
            call.body = body
            return call.bytes
        }
        let connections = try (0..<60).map { _ in try RawConnection(rig.bus.address) }
        for connection in connections { connection.write(calls) }
        var (published, unchanged) = (UInt64(0), 0)
        try await rig.until("no more are accepted") {
            // This process is the program whose calls wait: its question may be refused meanwhile.
            guard let statistics = try? await rig.client.statistics() else { return false }
            let count = UInt64(statistics["published", default: 0])
            unchanged = count == published ? unchanged + 1 : 0
            published = count
            return count > 1_000 && unchanged == 20
        }
        // What came before the bus had said whose it was is beyond the limit.
        #expect(published < 2_700)
        withExtendedLifetime(connections) {}
    }

    @Test(.rig) func forgettingEverythingDropsWhatIsAwaited() async throws {
        #expect(try await rig.client.claimNamed(source: "chat", eventID: "1") == .awaited)
        _ = try await rig.client.forget("/post")
        #expect(try await rig.client.statistics()["awaited-events"] == 1)
        _ = try await rig.client.forget("/")
        #expect(try await rig.client.statistics()["awaited-events"] == 0)
        try await rig.daemon.restart()
        #expect(try await rig.client.statistics()["awaited-events"] == 0)
    }

    /// Libraries may let it through.
    @Test(.rig) func aNoncharacterIsRefusedByTheNameOfItsArgument() async throws {
        let publisher = try RawConnection(rig.bus.address)
        for (index, name) in ["topic", "title", "body"].enumerated() {
            var writer = WireWriter()
            for place in 0..<3 { writer.string(place == index ? "/a\u{FFFF}" : "/a") }
            var call = WireMessage(serial: UInt32(index + 2), member: "Send")
            call.signature = "sss"
            call.body = writer.bytes
            publisher.write(call.bytes)
            var refusal = try #require(try publisher.read())
            // The bus tells a connection its name.
            while refusal.kind == .signal { refusal = try #require(try publisher.read()) }
            let text = refusal.arguments.first?.string ?? ""
            #expect(refusal.kind == .error && text.hasPrefix("the \(name) holds a noncharacter"), "\(text)")
        }
    }

    /// Each page has some 256 KiB.
    @Test(.rig) func longRepliesGoOnlyToWhoReadsThem() async throws {
        let body = String(repeating: "x", count: 8000)
        for number in 1...40 {
            _ = try await rig.client.publish("/post/\(number)", body: body, options: PublishOptions(banner: false))
        }
        let reader = try RawConnection(rig.bus.address)
        let calls = 12
        for serial in 0..<calls {
            var writer = WireWriter()
            writer.string("/")
            writer.number(UInt64(0))
            writer.number(UInt32(1000))
            var call = WireMessage(serial: UInt32(serial + 2), member: "History")
            call.signature = "stu"
            call.body = writer.bytes
            reader.write(call.bytes)
        }
        var replies = 0
        var repliesBeforeFirstAnswer: Int?
        while replies < calls {
            let message = try #require(try reader.read())
            if message.kind == .methodReturn { replies += 1 }
            guard message.kind == .methodCall else { continue }
            if repliesBeforeFirstAnswer == nil {
                // Others are served meanwhile.
                _ = try await rig.client.send("/note/1")
                repliesBeforeFirstAnswer = replies
            }
            reader.answer(message)
        }
        #expect((1...3).contains(repliesBeforeFirstAnswer ?? 0))
    }
}
