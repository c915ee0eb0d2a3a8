import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(1)))
struct ClientTests {
    private let router: StandInRouter! = Fixture.current()
    private let bus: PrivateBus! = Fixture.current()

    @Test(.router) func aPushIsHeardByEverySubscriberOnce() async throws {
        let client = try await NotifyClient(address: bus.address)
        let both = try await client.events(at: "/post/27", "/post")
        let one = try await client.events(at: "/post/27")
        let id = try await client.publish("/post/27", title: "t", body: "b", fields: ["n": .int16(-3), "s": "x"])
        let last = try await client.send("/post/27")
        for events in [both, one] {
            var reader = events.makeAsyncIterator()
            let event = try #require(try await reader.next())
            #expect(event.id == id)
            #expect(event.title == "t")
            #expect(event.fields == ["n": .int16(-3), "s": "x"])
            #expect(event.window == .milliseconds(100))
            #expect(try await reader.next()?.id == last)
        }
    }

    @Test(.router) func onlyTopicsAtOrBelowAreHeard() async throws {
        let client = try await NotifyClient(address: bus.address)
        let events = try await client.events(at: "/run/r1/mate/영희")
        for (id, topic) in ["/run", "/run/r1/mate/영희이", "/run/r1/mate/영희/finished", "/run/r1/mate/영희"].enumerated() {
            router.announce(topic, id: UInt64(id))
        }
        var reader = events.makeAsyncIterator()
        #expect(try await reader.next()?.topic == "/run/r1/mate/영희/finished")
        #expect(try await reader.next()?.topic == "/run/r1/mate/영희")
    }

    @Test(.router) func whatSomebodyElseAnnouncesIsNotHeard() async throws {
        let client = try await NotifyClient(address: bus.address)
        let events = try await client.events(at: "/")
        let liar = StandInRouter(connection: try await Connection.open(bus.address))
        let own = try await client.connections.connection().uniqueName
        liar.announce("/post/1", id: 1)
        liar.announce("/post/1", id: 2, to: own)
        _ = try await liar.connection.owner(of: Router.name)
        router.announce("/post/1", id: 3)
        var reader = events.makeAsyncIterator()
        #expect(try await reader.next()?.id == 3)
    }

    @Test(.router) func anOutcomeTellsWhoClaimedAndHowFast() async throws {
        let client = try await NotifyClient(address: bus.address)
        var outcomes = try await client.outcomes(at: "/post").makeAsyncIterator()
        #expect(try await client.claim(7) == .suppressed)
        let outcome = try #require(try await outcomes.next())
        #expect(outcome.id == 7)
        #expect(outcome.kind == .claimed)
        #expect(outcome.latency == .microseconds(1500))
        #expect(outcome.by == (try await client.connections.connection().uniqueName))
    }

    @Test(.router) func propertiesAreTyped() async throws {
        let client = try await NotifyClient(address: bus.address)
        #expect(try await client.properties()["Pending"] == .uint32(3))
        #expect(try await client.statistics() == ["accepted": 7])
        #expect(try await client.isDaemonRunning())
        #expect(try await !client.hasNotificationServer())
    }

    @Test(.privateBus) func subscriptionsGoOnWhenTheDaemonRestarts() async throws {
        var router: StandInRouter? = try await StandInRouter.start(on: bus.address)
        let client = try await NotifyClient(address: bus.address)
        var events = try await client.events(at: "/post").makeAsyncIterator()
        router?.announce("/post/1", id: 1)
        #expect(try await events.next()?.id == 1)
        router?.connection.close()
        router = nil
        // The name is free once the bus has seen the old one leave.
        let next = try await Connection.open(bus.address)
        let second = StandInRouter(connection: next)
        while true {
            do {
                try await next.requestName(Router.name)
                break
            } catch {}
        }
        second.announce("/post/2", id: 2)
        #expect(try await events.next()?.id == 2)
    }

    @Test(.privateBus) func subscriptionsGoOnWhenTheBusRestarts() async throws {
        let client = try await NotifyClient(address: bus.address)
        let events = try await client.events(at: "/post")
        await bus.kill()
        await #expect(throws: NotifyError.self) { try await client.send("/post/1") }
        try await bus.start()
        let router = try await StandInRouter.start(on: bus.address)
        // A call reconnects at once, and a connection counts as made only with its subscriptions.
        _ = try await client.isDaemonRunning()
        router.announce("/post/2", id: 2)
        var reader = events.makeAsyncIterator()
        #expect(try await reader.next()?.id == 2)
    }

    @Test(.privateBus) func aListenerThatOnlyWaitsReconnectsByItself() async throws {
        let client = try await NotifyClient(address: bus.address)
        let heard = Mailbox<EventID>()
        let events = try await client.events(at: "/post")
        let reader = Task { for try await event in events { heard.put(event.id) } }
        await bus.kill()
        try await bus.start()
        let router = try await StandInRouter.start(on: bus.address)
        // Announced until it is heard: from outside nobody sees when the listener is back.
        var id: UInt64 = 0
        while heard.all.isEmpty, id < 1000 {
            id += 1
            router.announce("/post/1", id: id)
            _ = await heard.next(within: .milliseconds(20))
        }
        #expect(!heard.all.isEmpty)
        reader.cancel()
        router.connection.close()
    }

    @Test(.router) func aDroppedSubscriptionTakesItsRulesAway() async throws {
        let client = try await NotifyClient(address: bus.address)
        let (removals, monitor) = try await monitor("RemoveMatch", on: bus)
        do {
            let events = try await client.events(at: "/post/1")
            router.announce("/post/1", id: 1)
            var reader = events.makeAsyncIterator()
            #expect(try await reader.next()?.id == 1)
            #expect(removals.all.isEmpty)
        }
        for rule in try TopicFilter("/post/1").rules(member: "Event") {
            let removal = await removals.next(within: .seconds(5))
            #expect(removal?.arguments == [.string(rule.text)])
        }
        monitor.close()
    }

    /// Others see on the bus that somebody subscribes, before that somebody has the bus's answer.
    @Test(.router) func whatComesRightBehindTheAnswerToASubscriptionIsHeard() async throws {
        let client = try await NotifyClient(address: bus.address)
        let (rules, monitor) = try await monitor("AddMatch", on: bus)
        for number in 1...100 {
            let topic = "/post/\(number)"
            async let subscription = client.events(at: topic)
            let last = try #require(try TopicFilter(topic).rules(member: "Event").last)
            #expect(await rules.next(within: .seconds(5)) { $0.arguments == [.string(last.text)] } != nil)
            router.announce(topic, id: UInt64(number))
            var reader = try await subscription.makeAsyncIterator()
            #expect(try await reader.next()?.id == EventID(rawValue: UInt64(number)))
        }
        monitor.close()
    }

    @Test(.router) func manyLargeMessagesPass() async throws {
        let client = try await NotifyClient(address: bus.address)
        let events = try await client.events(at: "/big")
        let body = String(repeating: "영", count: 70_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { try await client.publish("/big", body: body) } }
            try await group.waitForAll()
        }
        var reader = events.makeAsyncIterator()
        for id in 1...50 {
            let event = try #require(try await reader.next())
            #expect(event.id == EventID(rawValue: UInt64(id)))
            #expect(event.body.utf8.count == 210_000)
        }
    }

    @Test(.router) func aSlowReaderIsToldWhereTheGapIs() async throws {
        let client = try await NotifyClient(address: bus.address)
        let slow = try await client.events(at: ["/"], bufferingAtMost: 2)
        let quick = try await client.events(at: "/")
        for id in 1...3 { router.announce("/post/1", id: UInt64(id)) }
        var quickReader = quick.makeAsyncIterator()
        for id in 1...3 { #expect(try await quickReader.next()?.id == EventID(rawValue: UInt64(id))) }
        var reader = slow.makeAsyncIterator()
        #expect(try await reader.next()?.id == 1)
        #expect(try await reader.next()?.id == 2)
        #expect(await refusal { try await reader.next() }?.code == .readerTooSlow)
    }

    @Test(.router) func errorsSayWhatIsWrong() async throws {
        let client = try await NotifyClient(address: bus.address)
        let refused = await #expect(throws: NotifyError.self) { try await client.send("/refused", title: "secret") }
        #expect(refused?.code == .refused)
        #expect(refused?.name == "org.notifyd.Router1.Error.InvalidTopic")
        let invalid = await #expect(throws: NotifyError.self) { try await client.send("/a", title: "se\0cret") }
        #expect(invalid?.code == .invalidArgument)
        #expect(invalid?.description.contains("cret") == false)
        #expect(await refusal { try await client.events(at: "/post'") }?.code == .invalidArgument)
        #expect(await refusal { try await NotifyClient(address: "unix:path=/none") }?.code == .notReachable)
    }

    @Test(.privateBus) func withoutADaemonACallSaysSo() async throws {
        let client = try await NotifyClient(address: bus.address)
        #expect(await refusal { try await client.send("/post/1") }?.code == .notReachable)
        #expect(try await !client.isDaemonRunning())
    }

    @Test(.router) func aHungAnswerTimesOutAndCanBeCancelled() async throws {
        let connection = try await Connection.open(bus.address)
        let claim = Message.toRouter("Claim", [.uint64(666)])
        #expect(await refusal { try await connection.call(claim, timeout: .milliseconds(20)) }?.code == .timedOut)
        let task = Task { try await connection.call(claim) }
        task.cancel()
        #expect(await refusal { try await task.value }?.code == .cancelled)
        connection.close()
    }

    @Test(.router) func aClosedClientEndsItsSubscriptions() async throws {
        let client = try await NotifyClient(address: bus.address)
        var events = try await client.events(at: "/").makeAsyncIterator()
        await client.close()
        #expect(await refusal { try await events.next() }?.code == .closed)
        #expect(await refusal { try await client.send("/post/1") }?.code == .closed)
    }

    /// Overhears the calls of one method of the bus.
    private func monitor(
        _ member: String, on bus: PrivateBus
    ) async throws -> (calls: Mailbox<Message>, connection: Connection) {
        let calls = Mailbox<Message>()
        let connection = try await Connection.open(bus.address)
        connection.export(Bus.interface) { calls.put($0.message) }
        _ = try await connection.call(
            .call(
                "BecomeMonitor", of: "org.freedesktop.DBus.Monitoring", at: Bus.path, on: Bus.name,
                [.strings(["member='\(member)'"]), .uint32(0)]))
        return (calls, connection)
    }

    fileprivate static func withRouter(_ body: (PrivateBus, StandInRouter) async throws -> Void) async throws {
        try await withPrivateBus { bus in
            let router = try await StandInRouter.start(on: bus.address)
            try await body(bus, router)
            router.connection.close()
        }
    }
}

extension Trait where Self == Fixture {
    fileprivate static var router: Self { Fixture(ClientTests.withRouter) }
}
