import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// `Changes`, asked of a real daemon.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ChangesTests {
    private let rig: Rig! = Fixture.current()

    @Test(.rig) func everythingIsListedInItsOrder() async throws {
        let device = try await rig.client.device()
        let before = try await rig.client.journalChanges()
        let start = try #require(before.changes.first)
        #expect(before.changes.count == 1 && before.oldest == start.number)
        #expect(start.kind == "start" && start.topic == "" && start.id.rawValue == 0)
        #expect(start.details["last"]?.integer(as: UInt64.self) == 0 && start.details.count == 1)
        let options = PublishOptions(
            source: "chat", eventID: "17", timeToLive: .seconds(100), urgency: .low, window: .seconds(60),
            collapse: "k", via: "mqtt", appearance: BannerOptions(app: "Chat", image: "/tmp/picture.png"))
        let event = try await rig.client.publish(
            "/post/27", title: "T", body: "B", fields: ["from": "Mina"], options: options)
        _ = try await rig.client.claim(event)
        let silent = try await rig.client.publish("/log/1", options: PublishOptions(banner: false))
        _ = try await rig.client.claim(silent)
        _ = try await rig.client.claim(silent)
        let value = try await rig.client.publish("/run/r1/mate/Mina", title: "5 km")
        let removal = try await rig.client.publish("/run/r1/mate/Mina", options: PublishOptions(remove: true))

        let (oldest, changes) = try await rig.client.journalChanges(after: start.number)
        #expect(oldest == start.number)
        #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.number < $1.number })
        #expect(
            changes.map { "\($0.kind) \($0.topic) \($0.id)" } == [
                "event /post/27 \(event)", "outcome /post/27 \(event)", "event /log/1 \(silent)",
                "outcome /log/1 \(silent)", "read /log/1 \(silent)", "event /run/r1/mate/Mina \(value)",
                "outcome /run/r1/mate/Mina \(value)", "removed /run/r1/mate/Mina \(removal)",
            ])
        let first = changes[0].details
        #expect(first["title"]?.string == "T" && first["body"]?.string == "B")
        #expect(first["source"]?.string == "chat" && first["event-id"]?.string == "17")
        #expect(first["via"]?.string == "mqtt")
        #expect(first["fields"]?.entries?["from"]?.string == "Mina")
        #expect(first["urgency"]?.integer() == 0 && first["window"]?.integer() == 60_000)
        #expect(first["outcome"]?.string == "claimed")
        let accepted = try #require(first["accepted"]?.integer(as: Int64.self))
        let expires = try #require(first["expires"]?.integer(as: Int64.self))
        #expect(abs(expires - accepted - 100_000_000) < 1_000_000)
        #expect(first["options"]?.entries?.keys.sorted() == ["app", "collapse", "urgency"])
        #expect(changes[1].details["outcome"]?.string == "claimed")
        #expect(changes[1].details["form"]?.string == "Claim")
        #expect(changes[1].details["by"]?.string?.hasPrefix(":") == true)
        #expect(changes[1].details["expires"] == first["expires"])
        #expect(changes[4].details["expires"] == changes[2].details["expires"])
        // An event without a name of its own.
        #expect(changes[2].details["source"]?.string == "notifyd:" + device)
        #expect(changes[2].details["event-id"]?.string == "\(silent)")
        #expect(changes[2].details["silent"]?.string == "publisher")
        #expect(changes[2].details["options"]?.entries?["banner"]?.boolean == false)
        #expect(changes[5].details["retained"]?.boolean == true)
        #expect(changes[7].details["cause"]?.string == "publisher")

        // Page by page, and after a restart.
        var pages: [JournalChange] = []
        while true {
            let page = try await rig.client.journalChanges(after: (pages.last ?? start).number, limit: 3)
            if page.changes.isEmpty { break }
            pages += page.changes
        }
        #expect(pages == changes)
        try await rig.daemon.restart()
        #expect(try await rig.client.journalChanges().changes.prefix(9) == [start] + changes)
        try await rig.client.publish("/log/2", options: PublishOptions(banner: false))
        let more = try await rig.client.journalChanges(after: changes[7].number).changes
        #expect(more.map(\.kind) == ["start", "event", "outcome"])
        #expect(more[0].details["last"]?.integer() == changes[7].number)
    }

    @Test(.rig) func aLongListComesInPages() async throws {
        for number in 1...600 {
            try await rig.client.publish("/log/\(number)", options: PublishOptions(banner: false))
        }
        let first = try await rig.client.journalChanges(limit: 10_000).changes
        #expect(first.count == 1000)
        #expect(try await rig.client.journalChanges(after: first[999].number).changes.count == 201)
        #expect(try await rig.client.journalChanges(limit: 0).changes.isEmpty)
    }

    @Test(.rig) func nextChangesAreAwaited() async throws {
        let connection = try await Connection.open(rig.bus.address)
        defer { connection.close() }
        let start = try #require(try await rig.client.journalChanges().changes.last)
        // What is there comes at once.
        let known = try await awaitChanges(after: 0, limit: 1, on: connection)
        #expect(known == [start])
        // Two who wait hear of the next change, each as much as it has asked for.
        async let one = awaitChanges(after: start.number, limit: 1, on: connection)
        async let many = awaitChanges(after: start.number, limit: 1000, on: connection)
        // The daemon answers in the order of the calls.
        _ = try await connection.call(.toRouter("Unread", [.string("/")]))
        try await rig.client.publish("/log/1", options: PublishOptions(banner: false))
        let all = try await rig.client.journalChanges(after: start.number).changes
        #expect(all.map(\.kind) == ["event", "outcome"])
        #expect(try await one == [all[0]])
        #expect(try await many == all)
    }

    @Test(.rig) func fewCallsMayWaitAndNoneOfThemStays() async throws {
        let connection = try await Connection.open(rig.bus.address)
        let newest = try #require(try await rig.client.journalChanges().changes.last).number
        let refusals = Mailbox<String?>()
        let call = Message.toRouter("AwaitChanges", [.uint64(newest), .uint32(10)])
        for _ in 0..<65 {
            connection.call(call) { answer in
                if case .failure(let error) = answer { refusals.put(error.name) }
            }
        }
        #expect(
            try #require(await refusals.next(within: .seconds(30))) == "\(Router.interface).Error.LimitExceeded")
        let name = connection.uniqueName
        connection.close()
        // The calls of a connection that has left are forgotten: another one of the program has room for as many.
        let other = try await Connection.open(rig.bus.address)
        defer { other.close() }
        try await rig.until("the bus knows that it has left") { try await other.owner(of: name) == nil }
        let answers = Mailbox<Bool>()
        for _ in 0..<64 {
            other.call(call) { answers.put((try? $0.get()) != nil) }
        }
        _ = try await other.call(.toRouter("Unread", [.string("/")]))
        try await rig.client.publish("/log/1", options: PublishOptions(banner: false))
        for _ in 0..<64 { #expect(await answers.next(within: .seconds(30)) == true) }
    }

    private func awaitChanges(
        after number: UInt64, limit: UInt32, on connection: Connection
    ) async throws -> [JournalChange] {
        let reply = try await connection.call(.toRouter("AwaitChanges", [.uint64(number), .uint32(limit)]))
        return try #require(JournalChange.page(of: reply.arguments)).changes
    }
}
