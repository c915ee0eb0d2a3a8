import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The stream of all events against a real daemon: what is acknowledged arrives, once and in order, whatever dies.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct CompleteStreamTests {
    private let rig: Rig! = Fixture.current()

    @Test(.rig) func whatWasPublishedBeforeAndAfterComesOnceAndInOrder() async throws {
        var ids = try await publish(5, with: rig.client)
        let stream = try await rig.client.allEvents(at: "/log", after: 0)
        let later = try await rig.client.allEvents(at: "/log/1", "/log/2")
        ids += try await publish(5, with: rig.client)
        #expect(try await read(ids.count, from: stream) == ids)
        let both = Set(["/log/1", "/log/2"])
        let some = try await rig.client.history("/log", after: ids[4]).map(\.event).filter {
            both.contains($0.topic)
        }
        #expect(some.count == 2)
        #expect(try await read(some.count, from: later) == some.map(\.id))
    }

    @Test(.rig) func anEventThatIsHeardHasEverythingItsSignalSaid() async throws {
        let stream = try await rig.client.allEvents(at: "/post")
        let id = try await rig.client.publish(
            "/post/1", title: "t", fields: ["n": .int16(-3)], options: PublishOptions(source: "test", eventID: "1"))
        var reader = stream.makeAsyncIterator()
        let event = try #require(try await reader.next())
        #expect(event.id == id)
        #expect(event.title == "t")
        #expect(event.fields == ["n": .int16(-3)])
        #expect(event.published != nil)
        #expect(event.source == "test" && event.eventID == "1")
        #expect(event.window != nil && event.sender != nil)
    }

    @Test(.rig) func aDaemonThatIsKilledLeavesNoGap() async throws {
        let stream = try await rig.client.allEvents(at: "/log")
        let reading = Task { try await read(60, from: stream) }
        var ids: [EventID] = []
        for _ in 1...3 {
            ids += try await publish(20, with: rig.client)
            try await rig.daemon.restart()
        }
        #expect(try await reading.value == ids)
    }

    @Test(.rig) func whatIsPublishedWhileTheStreamIsNotThereIsNotMissed() async throws {
        let stream = try await rig.client.allEvents(at: "/log")
        var ids = try await publish(3, with: rig.client)
        await rig.daemon.kill()
        await rig.bus.kill()
        try await rig.bus.start()
        try await rig.daemon.start()
        // Another connection is quicker than the one that has to notice its loss.
        let publisher = try await NotifyClient(address: rig.bus.address)
        ids += try await publish(20, with: publisher)
        #expect(try await read(ids.count, from: stream) == ids)
        await publisher.close()
    }

    @Test(.rig) func aStreamBeginsBeforeThereIsADaemon() async throws {
        await rig.daemon.kill()
        let stream = try await rig.client.allEvents(at: "/log")
        try await rig.daemon.start()
        let ids = try await publish(3, with: rig.client)
        #expect(try await read(ids.count, from: stream) == ids)
    }

    @Test(.rig) func aClosedClientEndsItsStream() async throws {
        let client = try await NotifyClient(address: rig.bus.address)
        let stream = try await client.allEvents(at: "/log")
        let changes = try await client.watch("/log")
        await client.close()
        await #expect(throws: NotifyError.self) { try await read(1, from: stream) }
        var reader = changes.makeAsyncIterator()
        #expect(await refusal { try await reader.next() }?.code == .closed)
    }

    /// The bus drops what a stopped reader does not take, or holds it back; neither is the reader's loss.
    @Test func aStoppedSubscriberGetsEverythingWhenItGoesOn() async throws {
        let count = environmentNumber("NOTIFYD_STALLED_EVENTS") ?? 5000
        try await withRig { rig in
            let first = try await rig.client.publish("/log/0", options: PublishOptions(banner: false))
            let subscriber = try rig.start(
                "listen", "/log", "--since", "\(first)", "-n", "\(count + 1)", "--json=short")
            let before = try await rig.client.publish("/log/1", options: PublishOptions(banner: false))
            let lines = subscriber.lines(of: 1)
            _ = try #require(await lines.next(within: .seconds(20)), "the subscriber hears nothing")
            subscriber.signal(SIGSTOP)
            let ids = try await publish(count, with: rig.client)
            subscriber.signal(SIGCONT)
            let exit = await subscriber.waitForExit(within: .seconds(20) + .milliseconds(5) * count)
            #expect(exit == .code(0))
            let heard = try #require(await subscriber.allLines(of: 1)).compactMap(id(ofLine:))
            #expect(heard == [before] + ids)
        }
    }

    // MARK: -

    /// Silent events at three topics below `/log`, up to 64 at once; in the order of their ids.
    private func publish(_ count: Int, with client: NotifyClient) async throws -> [EventID] {
        try await withThrowingTaskGroup(of: EventID.self) { group in
            var ids: [EventID] = []
            for number in 0..<count {
                if number >= 64, let id = try await group.next() { ids.append(id) }
                group.addTask {
                    try await client.publish("/log/\(number % 5)", options: PublishOptions(banner: false))
                }
            }
            for try await id in group { ids.append(id) }
            return ids.sorted()
        }
    }

    private func read(_ count: Int, from stream: EventStream) async throws -> [EventID] {
        let reading = Task {
            var ids: [EventID] = []
            for try await event in stream {
                ids.append(event.id)
                if ids.count == count { break }
            }
            return ids
        }
        let alarm = Task {
            try await Task.sleep(for: .seconds(45))
            reading.cancel()
        }
        defer { alarm.cancel() }
        return try await reading.value
    }

    private func id(ofLine line: String) -> EventID? {
        line.split(separator: ",").first.flatMap { UInt64($0.filter(\.isNumber)) }.map { EventID(rawValue: $0) }
    }
}
