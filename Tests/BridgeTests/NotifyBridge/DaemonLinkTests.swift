import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import NotifyBridge

/// The connection of a bridge to a real notifyd.
@Suite(.timeLimit(.minutes(2)))
struct DaemonLinkTests {
    private let link: DaemonLink! = Fixture.current()
    private let daemon: DaemonProcess! = Fixture.current()
    private let bus: PrivateBus! = Fixture.current()

    fileprivate static func withDaemon(_ body: (PrivateBus, DaemonProcess, DaemonLink) async throws -> Void)
        async throws
    {
        try await withPrivateBus { bus in
            let daemon = try await DaemonProcess.start(BuiltPrograms.notifyd, on: bus)
            let link = try await DaemonLink.open(bus.address)
            try await body(bus, daemon, link)
            await daemon.stop()
        }
    }

    @Test(.privateBus) func itTellsWhenNotifydComesAndGoes() async throws {
        let daemon = try DaemonProcess(BuiltPrograms.notifyd, on: bus)
        let link = try await DaemonLink.open(bus.address)
        let presence = Mailbox<Bool>()
        let observation = link.observe { notice in
            switch notice {
            case .appeared: presence.put(true)
            case .vanished: presence.put(false)
            default: break
            }
        }
        #expect(await presence.next(within: .seconds(5)) == false)
        for _ in 0..<2 {
            try await daemon.start()
            #expect(await presence.next(within: .seconds(5)) == true)
            #expect(link.isThere)
            await daemon.kill()
            #expect(await presence.next(within: .seconds(5)) == false)
            #expect(!link.isThere)
        }
        withExtendedLifetime(observation) {}
    }

    @Test(.daemon) func callsArriveInTheirOrderHoweverManyAreUnderWay() async throws {
        let ids = Mailbox<UInt64?>()
        for number in 0..<400 {
            let options: [String: Value] = ["source": "test", "event-id": .string("\(number)"), "via": "test"]
            link.submit(.publish("/a", title: "\(number)", options: options)) { ids.put($0.eventID?.rawValue) }
        }
        var received: [UInt64] = []
        for _ in 0..<400 { received.append(try #require(await ids.next(within: .seconds(10)) ?? nil)) }
        #expect(received == received.sorted())
        let page = try #require(await link.perform(.changes(after: 0)).changes)
        let events = page.rows.filter { $0.kind == "event" }
        #expect(events.map { $0.details["title"]?.string } == (0..<400).map { "\($0)" })
        #expect(events.allSatisfy { $0.details["via"]?.string == "test" })
        #expect(try await link.newestChange() == page.rows.last?.number)
    }

    @Test(.daemon) func aRepeatedPublishIsPublishedOnce() async throws {
        let options = PublishOptions(source: "test", eventID: "1")
        let first = await link.perform(.publish("/a", title: "t", options: options))
        try await daemon.restart()
        let second = await link.perform(.publish("/a", title: "t", options: options))
        #expect(first.eventID != nil && first.eventID == second.eventID)
    }

    @Test func answersAreSortedByWhetherTheSameCallMaySucceedLater() async throws {
        try await Self.withDaemon { _, daemon, link in
            guard case .refused(let error) = await link.perform(.publish("no topic", options: [:])) else {
                Issue.record("a topic that is none is refused for ever")
                return
            }
            #expect(error.name == "org.notifyd.Router1.Error.InvalidTopic")
            guard case .refused(let local) = await link.perform(.publish("/a", title: "\0", options: [:])) else {
                Issue.record("what cannot be sent is refused for ever")
                return
            }
            #expect(local.code == .invalidArgument)
            guard case .refusedForNow = await link.perform(DaemonCall("NewerThanThis", [])) else {
                Issue.record("a newer notifyd may have the method")
                return
            }
            await daemon.kill()
            guard case .refusedForNow = await link.perform(.publish("/a", options: [:])) else {
                Issue.record("without notifyd it is tried again")
                return
            }
        }
        for name in [
            "org.notifyd.Router1.Error.LimitExceeded", "org.notifyd.Router1.Error.StorageUnavailable",
            "org.freedesktop.systemd1.UnitMasked", "org.freedesktop.systemd1.NoSuchUnit",
            "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.AccessDenied",
        ] {
            #expect(NotifyError(.refused, "", name: name).isTemporary)
        }
        #expect(!NotifyError(.refused, "", name: "org.freedesktop.DBus.Error.InvalidArgs").isTemporary)
        // Another program owns the name, and answers something.
        for arguments in [[], [.string("yes")], [.uint64(0)]] as [[Value]] {
            let answer = DaemonAnswer(.success(.toRouter("Publish", arguments)), to: "Publish")
            #expect(!answer.isDone && answer.error?.isTemporary == true)
        }
        for name in ["InvalidEvent", "TooLarge", "AccessDenied", "UnknownEvent"] {
            #expect(!NotifyError(.refused, "", name: "org.notifyd.Router1.Error.\(name)").isTemporary)
        }
    }

    @Test(.daemon) func itsCallsAreThoseOfNotifyd() async throws {
        let id = try #require(
            await link.perform(.publish("/a", options: PublishOptions(window: .seconds(60)))).eventID)
        #expect(await link.perform(.hold(id, for: .seconds(30))).verdict == "suppressed")
        #expect(await link.perform(.release(id)).isDone)
        #expect(await link.perform(.hold(id, for: .seconds(30))).verdict == "suppressed")
        #expect(await link.perform(.complete(id)).isDone)
        #expect(await link.perform(.claim(id)).verdict == "recorded")
    }

    @Test(.daemon) func signalsAndAnswersComeInOneOrder() async throws {
        enum Step: Equatable {
            case event(String)
            case answer
        }
        let steps = Mailbox<Step>()
        let observation = link.observe([.event]) {
            if case .event(let event) = $0 { steps.put(.event(event.title)) }
        }
        for number in 0..<50 {
            link.submit(.publish("/a", title: "\(number)", options: [:])) { _ in steps.put(.answer) }
        }
        for _ in 0..<100 { _ = await steps.next(within: .seconds(5)) }
        let titles = steps.all.compactMap { step -> String? in
            if case .event(let title) = step { title } else { nil }
        }
        #expect(titles == (0..<50).map(String.init))
        withExtendedLifetime(observation) {}
    }

    @Test(.daemon) func aReleasedObservationGetsNothing() async throws {
        let notices = Mailbox<Bool>()
        do {
            let observation = link.observe([.event]) { _ in notices.put(true) }
            #expect(await notices.next(within: .seconds(5)) == true)
            withExtendedLifetime(observation) {}
        }
        #expect(await link.perform(.publish("/a", options: [:])).isDone)
        await link.flush()
        #expect(notices.all == [true])
    }

    // MARK: Changes

    @Test(.daemon) func aFollowerGetsEveryChangeOnceOverRestarts() async throws {
        let titles = Mailbox<String>()
        let follower = Task {
            for try await rows in link.changes(after: 0, limit: 3) {
                for row in rows where row.kind == "event" { titles.put(row.details["title"]?.string ?? "") }
            }
        }
        for number in 0..<10 { _ = await link.perform(.publish("/a", title: "\(number)", options: [:])) }
        #expect(await titles.next(within: .seconds(5)) { $0 == "9" } != nil)
        try await daemon.restart()
        for number in 10..<20 { _ = await link.perform(.publish("/a", title: "\(number)", options: [:])) }
        #expect(await titles.next(within: .seconds(5)) { $0 == "19" } != nil)
        #expect(titles.all == (0..<20).map(String.init))
        follower.cancel()
        try await follower.value
    }

    @Test(.daemon) func aFollowerBeginsAfterItsCursor() async throws {
        for number in 0..<5 { _ = await link.perform(.publish("/a", title: "\(number)", options: [:])) }
        let rows = try #require(await link.perform(.changes(after: 0)).changes?.rows.filter { $0.kind == "event" })
        var iterator = link.changes(after: rows[2].number).makeAsyncIterator()
        let next = try await iterator.next()?.filter { $0.kind == "event" }
        #expect(next?.map { $0.details["title"]?.string } == ["3", "4"])
    }

    @Test(.privateBus) func aFollowerWaitsForNotifyd() async throws {
        let daemon = try DaemonProcess(BuiltPrograms.notifyd, on: bus)
        let link = try await DaemonLink.open(bus.address)
        let titles = Mailbox<String>()
        let follower = Task {
            for try await rows in link.changes(after: 0) {
                for row in rows where row.kind == "event" { titles.put(row.details["title"]?.string ?? "") }
            }
        }
        try await daemon.start()
        _ = await link.perform(.publish("/a", title: "late", options: [:]))
        #expect(await titles.next(within: .seconds(5)) == "late")
        follower.cancel()
        await daemon.stop()
    }

    @Test(.privateBus) func whatIsRefusedForNowIsDeliveredInItsOrderWhenNotifydIsThere() async throws {
        let daemon = try DaemonProcess(BuiltPrograms.notifyd, on: bus)
        let link = try await DaemonLink.open(bus.address)
        let queue = RetryQueue<String>(link, upTo: .seconds(300))
        let (attempts, delivered) = (Mailbox<String>(), Mailbox<String>())
        let task = Task {
            await queue.run { title, number in
                attempts.put(title)
                guard await link.perform(.publish("/a", title: title)).isDone else { return }
                queue.remove(number)
                delivered.put(title)
            }
        }
        queue.insert("second", 2)
        #expect(await attempts.next(within: .seconds(5)) == "second")
        queue.insert("first", 1)
        #expect(queue.count == 2)
        try await daemon.start()
        #expect(await delivered.next(within: .seconds(20)) == "first")
        #expect(await delivered.next(within: .seconds(20)) == "second")
        #expect(queue.isEmpty)
        task.cancel()
        await daemon.stop()
    }

    @Test func theLossOfTheBusIsTold() async throws {
        let bus = try await PrivateBus()
        let losses = Mailbox<Void>()
        let link = try await DaemonLink.open(bus.address) { _ in losses.put(()) }
        await bus.kill()
        #expect(await losses.next(within: .seconds(5)) != nil)
        guard case .refusedForNow = await link.perform(.publish("/a", options: [:])) else {
            Issue.record("without a bus it is tried again")
            return
        }
        await bus.remove()
    }
}

extension Trait where Self == Fixture {
    fileprivate static var daemon: Self { Fixture(DaemonLinkTests.withDaemon) }
}
