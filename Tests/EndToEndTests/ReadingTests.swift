import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What was, what is, and why, asked of a real daemon by a program and by hand.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct ReadingTests {
    private let rig: Rig! = Fixture.current()

    @Test(.rig) func historyIsReadInPages() async throws {
        var ids: [EventID] = []
        for number in 1...5 {
            ids.append(try await rig.client.publish("/log/\(number)", options: PublishOptions(banner: false)))
        }
        let elsewhere = try await rig.client.publish("/other", title: "t", options: PublishOptions(banner: false))
        let page = try await rig.client.history("/log", after: ids[0], limit: 3)
        #expect(page.map(\.event.id) == Array(ids[1...3]))
        #expect(page.allSatisfy { $0.outcome == .silent })
        #expect(try await rig.client.history("/log", after: ids[3]).map(\.event.id) == [ids[4]])
        #expect(try await rig.client.history("/log", after: ids[4]).isEmpty)
        #expect(try await rig.client.history().map(\.event.id) == ids + [elsewhere])
        #expect(try await rig.run("history", "-n", "2", "--json=short").output.count == 2)
        #expect(try await rig.run("history", "/log", "--after", "\(ids[3])").output.count == 1)
        #expect(try await rig.run("history", "/nothing").exit == .code(1))
    }

    @Test(.rig) func whatBannersSayIsReadByAnybody() async throws {
        let options = PublishOptions(urgency: .critical, window: .seconds(60))
        let post = try await rig.client.publish("/post/27", options: options)
        let invite = try await rig.client.publish(
            "/run/r1/invite", fields: ["from": "Mina\u{202E}"], options: PublishOptions(window: .seconds(60)))
        let silent = try await rig.client.publish("/log/1", options: PublishOptions(banner: false))
        #expect(try await rig.client.render(post) == BannerText(title: "New activity on post 27", body: ""))
        #expect(try await rig.client.render(invite).title == "Mina invites you to a run")
        #expect(try await rig.client.render(silent).title == "News at /log/1")
        await #expect(throws: NotifyError.self) { try await rig.client.render(EventID(rawValue: 1)) }

        let inbox = try await rig.client.inbox()
        #expect(inbox.map(\.id) == [invite, post])
        #expect(inbox.map(\.text.title) == ["Mina invites you to a run", "New activity on post 27"])
        #expect(inbox.map(\.urgency) == [nil, .critical])
        #expect(inbox[0].appearance.buttons.map(\.key) == ["accept", "decline"])
        #expect(try await rig.client.inbox(before: invite).map(\.id) == [post])
        #expect(try await rig.client.inbox(limit: 1).map(\.id) == [invite])
        #expect(try await rig.client.inbox("/post").map(\.id) == [post])
        _ = try await rig.client.claim(post)
        #expect(try await rig.client.inbox().map(\.id) == [invite])
        // A restart keeps what is in it.
        try await rig.daemon.restart()
        #expect(try await rig.client.inbox().map(\.id) == [invite])
    }

    /// A follower needs no `Explain`.
    @Test(.rig) func anEventSaysWhatBecomesOfItWhereThatIsKnown() async throws {
        let signals = try await rig.client.events(at: "/")
        var events = signals.makeAsyncIterator()
        let options = PublishOptions(
            timeToLive: .seconds(100), urgency: .low, window: .seconds(60), via: "mqtt:sunday-run")
        let first = try await rig.client.publish("/post/27", options: options)
        let event = try #require(try await events.next())
        #expect(event.id == first)
        #expect(event.urgency == .low && event.via == "mqtt:sunday-run")
        let expires = try #require(event.expires)
        #expect(abs(expires - event.published! - 100_000_000) < 5_000_000)
        #expect(event.silence == nil && !event.isClaimed)
        let explanation = try await rig.client.explain(first)
        #expect(explanation.via == "mqtt:sunday-run")
        let shown = try await rig.run("show", "\(first)", "--json=short").output[0]
        #expect(shown.contains(#""via":"mqtt:sunday-run""#))

        try await rig.client.publish("/log/1", options: PublishOptions(banner: false))
        #expect(try await events.next()?.silence == "publisher")
        try await rig.client.publish("/run/r1/mate/Mina")
        let live = try await events.next()
        #expect(live?.silence == "route" && live?.urgency == nil && live?.via == nil)
        let screen = try await rig.client.openScreen("/post/28")
        try await rig.client.publish("/post/28")
        let claimed = try await events.next()
        #expect(claimed?.isClaimed == true && claimed?.silence == nil)
        await screen.close()
    }

    /// It is made in portions, and values change between them.
    @Test(.rig) func aLongSnapshotSaysWhatWasAtItsCursor() async throws {
        let publisher = try await NotifyClient(address: rig.bus.address)
        let body = String(repeating: "x", count: 4000)
        let options = PublishOptions(retain: true, banner: false)
        func publish(_ topic: Int) async throws -> EventID {
            try await publisher.publish("/live/\(topic)", body: body, options: options)
        }
        var ids: [[EventID]] = []
        for topic in 0..<300 { ids.append([try await publish(topic)]) }
        async let answer = rig.client.snapshot("/live")
        for topic in 0..<100 { ids[topic].append(try await publish(topic)) }
        let snapshot = try await answer
        let values = ids.compactMap { $0.last { $0 <= snapshot.cursor } }
        #expect(snapshot.values.map(\.event.id) == values.sorted())
        await publisher.close()
    }

    @Test(.rig) func aDecisionCanBeExplained() async throws {
        let id = try await rig.client.publish(
            "/post/27", title: "t", options: PublishOptions(source: "test", eventID: "1"))
        try await rig.client.claim(id)
        let explanation = try await rig.client.explain(id)
        #expect(explanation.topic == "/post/27")
        #expect(explanation.route == "/post/{id}")
        #expect(explanation.window == .milliseconds(100))
        #expect(explanation.outcome == .claimed)
        #expect(explanation.claims.map(\.verdict) == [.suppressed])
        #expect(explanation.claims.map(\.form) == ["Claim"])
        #expect(explanation.source == "test")
        let drawing = try await rig.run("why", "\(id)").output
        #expect(drawing.contains { $0.contains("C") && $0.contains("suppressed") })
        #expect(drawing.contains { $0.contains("claimed: ") })
        #expect(drawing.allSatisfy { !$0.contains("\u{1b}") })
        #expect(try await rig.run("show", "\(id)", "--json=short").output.first?.contains("\"claimed\"") == true)
        #expect(try await rig.run("why", "1").exit == .code(1))
    }

    @Test(.rig) func aWatcherSeesThePresentAndEveryChangeAcrossARestart() async throws {
        let retained = PublishOptions(retain: true, banner: false)
        let first = try await rig.client.publish("/live/a", title: "1", options: retained)
        let changes = try await rig.client.watch("/live")
        let seen = Mailbox<Change>()
        let watching = Task { for try await change in changes { seen.put(change) } }
        defer { watching.cancel() }
        func expect(_ kind: Change.Kind, _ topic: String, _ line: Int = #line) async throws {
            let change = try #require(await seen.next(within: .seconds(15)), "nothing came (line \(line))")
            #expect(change.kind == kind && change.topic == topic, "line \(line)")
        }
        try await expect(.added, "/live/a")
        #expect(try await rig.client.snapshot("/live").values.map(\.event.id) == [first])

        try await rig.client.publish("/live/b", options: retained)
        try await expect(.added, "/live/b")
        try await rig.client.publish("/live/a", title: "2", options: retained)
        try await expect(.modified, "/live/a")
        try await rig.client.publish("/live/c", options: PublishOptions(retain: false, banner: false))

        try await rig.daemon.restart()
        #expect(try await rig.run("send", "/live/b", "--remove").exit == .code(0))
        try await expect(.removed, "/live/b")
        try await rig.client.publish("/live/d", options: retained)
        try await expect(.added, "/live/d")
        #expect(try await rig.run("watch", "/live", "-n", "2").output.map { $0.first } == ["+", "+"])
    }

    @Test(.rig) func aRemovalIsAnnounced() async throws {
        try await rig.client.publish("/live/a", options: PublishOptions(retain: true, banner: false))
        var removals = try await rig.client.removals(at: "/live").makeAsyncIterator()
        let id = try await rig.client.publish("/live/a", options: PublishOptions(remove: true))
        #expect(try await removals.next() == Removal(topic: "/live/a", id: id))
    }

    @Test(.rig) func theRecordIsReplayedWithAnotherWindowAndAnotherConfiguration() async throws {
        let id = try await rig.client.publish("/post/27", title: "t")
        #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
        // However slow this machine is, it comes after the window of 100 ms.
        try await rig.client.claim(id)
        let longer = try await rig.run("replay", "--window", "60s", "--json=short")
        #expect(longer.output.first?.contains("\"fewer\":[\(id)]") == true)
        let file = rig.daemon.folder.path + "/other.toml"
        try rig.daemon.folder.write("[[route]]\ntopic = \"/post/{id}\"\nwindow = \"60s\"\n", to: "other.toml")
        let other = try await rig.run("replay", "--config", file, "--json=short")
        #expect(other.output.first?.contains("\"fewer\":[\(id)]") == true)
        #expect(try await rig.run("replay", "--config", "/nothing.toml").exit == .code(78))
        #expect(try await rig.run("status", "--json=short").output.first?.contains("\"ClaimLatency\"") == true)
    }
}
