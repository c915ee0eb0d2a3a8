import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What waits while the broker is away.
@Suite(.serialized, .timeLimit(.minutes(6)))
struct BacklogTests {
    private let rig: LinkRig! = Fixture.current()
    private static let silent = PublishOptions(banner: false)

    @Test func whileTheBrokerIsAwayNothingGrowsButTheCount() async throws {
        // What the broker drops is asked for, and comes in another order: here it keeps the sessions while it is away,
        // and enough in them.
        var settings = TestBroker.Settings()
        settings.isPersistent = true
        settings.lines = ["max_queued_messages 100000", "autosave_on_changes false", "autosave_interval 3600"]
        try await withLink(broker: settings) { rig in
            try await rig.one.client.publish("/log/a", title: "0", options: Self.silent)
            try await rig.two.hears("0")
            await rig.broker.stop()
            try await rig.one.untilBrokerIsMissed()
            let before = try rig.one.bridgeMemory()
            let titles = (0...4_000).map { "\($0)" }
            for title in titles.dropFirst() {
                try await rig.one.client.publish("/log/a", title: title, options: Self.silent)
            }
            try await rig.one.until("Backlog", is: 4_000, within: .seconds(120))
            let listed = try await rig.one.notifyctl("bridges")
            #expect(listed.code == 0 && listed.output.first?.contains("backlog 4000") == true)
            let after = try rig.one.bridgeMemory()
            #expect(after - before < 6 << 10, "\(before) KiB before, \(after) KiB after")

            try await rig.broker.start()
            try await rig.one.until("Backlog", is: 0, within: .seconds(180))
            // Each event is read once: to read all of them again and again takes longer than to say them.
            var heard: [String] = []
            var lastID: EventID = 0
            try await rig.two.until("all is heard", within: .seconds(120)) {
                let page = try await rig.two.client.history("/", after: lastID)
                heard += page.map(\.event.title)
                lastID = page.last?.event.id ?? lastID
                return heard.last == "4000"
            }
            #expect(heard == titles, "\(heard.count) events, of which \(Set(heard).count) differ")
            let end = try rig.one.bridgeMemory()
            #expect(end - before < 6 << 10, "\(before) KiB before, \(end) KiB after all was said")
        }
    }

    /// A broker that forgets its sessions, or has more for a device than it keeps, drops the rest: the device asks for
    /// it.
    @Test(.link) func whatTheBrokerDropsComesLater() async throws {
        try await rig.one.client.publish("/log/a", title: "0", options: Self.silent)
        try await rig.two.hears("0")
        await rig.broker.kill()
        let titles = (0...3000).map { "\($0)" }
        for title in titles.dropFirst() {
            try await rig.one.client.publish("/log/a", title: title, options: Self.silent)
        }
        try await rig.broker.start()
        var heard: [String] = []
        var lastID: EventID = 0
        try await rig.two.until("all is heard", within: .seconds(180)) {
            let page = try await rig.two.client.history("/", after: lastID)
            heard += page.map(\.event.title)
            lastID = page.last?.event.id ?? lastID
            return heard.count >= titles.count
        }
        #expect(heard.sorted() == titles.sorted(), "\(heard.count) events, of which \(Set(heard).count) differ")
    }

    /// Only what would go out is counted, also by a bridge that was started meanwhile.
    @Test(.link(1, link: "skip = [\"/local\"]")) func whatIsNotSharedDoesNotWait() async throws {
        await rig.broker.kill()
        try await rig.one.untilBrokerIsMissed()
        try await rig.one.client.publish("/local/a", title: "two", options: Self.silent)
        try await rig.one.client.publish("/log/a", title: "three", options: Self.silent)
        try await rig.one.client.publish("/log/a", title: "four", options: Self.silent)
        try await rig.one.until("Backlog", is: 2)
        await rig.one.bridge.stop()
        try rig.one.bridge.launch()
        try await rig.one.until("Backlog", is: 2)
    }

    /// The journal goes on while the link begins again further back in it.
    @Test(.link) func whatIsPublishedWhileTheBrokerComesBackArrives() async throws {
        let isOver = Locked(false)
        let publishing = Task {
            var count = 0
            while !isOver.withLock({ $0 }) {
                count += 1
                try await rig.one.client.publish("/log/a", title: "\(count)", options: Self.silent)
                try await Task.sleep(for: .milliseconds(5))
            }
            return count
        }
        for _ in 1...2 {
            await rig.broker.kill()
            try await rig.one.untilBrokerIsMissed()
            try await rig.broker.start()
            for device in rig.devices {
                try await device.until(state: "connected", within: .seconds(60))
            }
            // Publishing goes on for a while on this connection.
            let heard = try await rig.one.titles().count
            try await rig.one.until("more is published") { try await rig.one.titles().count > heard + 20 }
        }
        isOver.withLock { $0 = true }
        let count = try await publishing.value
        try await rig.two.until("all is heard", within: .seconds(120)) {
            try await Set(rig.two.titles()).count == count
        }
        #expect(try await rig.two.titles().count == count)
    }
}
