import Testing

@testable import Routing

/// Parts of the router by themselves: what only they change.
struct OwnedStateTests {
    private let start = Instant(microseconds: 1_000_000)

    private func event(_ id: UInt64) -> Event {
        Event(
            id: EventID(id), topic: try! Topic("/post/1"), title: "", body: "", fields: [], published: 0,
            sender: Bench.peer, origin: Origin(), urgency: nil, retained: false,
            route: Route(pattern: nil, window: .zero))
    }

    @Test(arguments: [false, true]) func snoozesHaveRoomForOneMoreOnceOneHasEnded(_ byBytes: Bool) throws {
        var limits = Limits()
        if byBytes { limits.snoozeBytes = 2 * event(1).memoryCost } else { limits.snoozes = 2 }
        var (snoozes, timers) = (Snoozes(), Router.Timers())
        let due = Uptime(microseconds: 60_000_000)
        for id in [1, 2] as [UInt64] {
            try snoozes.checkRoom(for: event(id), limits: limits)
            let timer = timers.schedule(.snooze(EventID(id)), at: due)
            snoozes.begin(EventID(id), due, timer, bytes: event(id).memoryCost)
        }
        #expect(throws: Refusal.self) { try snoozes.checkRoom(for: event(3), limits: limits) }
        try snoozes.checkRoom(for: event(2), limits: limits)
        // A time that is set again does not count twice.
        snoozes.begin(EventID(2), due, timers.schedule(.snooze(EventID(2)), at: due), bytes: event(2).memoryCost)
        snoozes.end(EventID(1))
        snoozes.end(EventID(1))
        try snoozes.checkRoom(for: event(3), limits: limits)
        #expect(snoozes.all.map(\.id) == [EventID(2)])
    }

    @Test func aChangeOfSnoozesIsTakenOnce() {
        var (snoozes, timers) = (Snoozes(), Router.Timers())
        snoozes.end(EventID(1))
        #expect([snoozes.takeChange()] == [false])
        let due = Uptime(microseconds: 1)
        snoozes.begin(EventID(1), due, timers.schedule(.snooze(EventID(1)), at: due), bytes: 1)
        #expect([snoozes.takeChange(), snoozes.takeChange()] == [true, false])
    }

    @Test func aServerIsStartedAgainAtOnceAfterOneHasShownABanner() {
        var (server, timers) = (ServerCalls(), Router.Timers())
        let attempts = (0..<2).map { _ in server.startIfDue(at: start, timers: &timers) }
        #expect(attempts == [true, false] && server.startTimer != nil)
        let call = server.begin(for: .summary, isExclusive: false, at: start, timers: &timers)
        _ = server.end(call, nil, at: start, timers: &timers)
        #expect(server.startTimer == nil)
        let again = server.startIfDue(at: start, timers: &timers)
        #expect(again)
    }

    @Test func onlyAnEarlierWakeUpIsAskedFor() {
        var timers = TimerQueue<Instant, String>()
        let isAsked = [timers.askForWakeUp(at: nil), timers.askForWakeUp(at: start), timers.askForWakeUp(at: start)]
        #expect(isAsked == [false, true, false])
        #expect(!timers.needsWakeUp(at: start) && !timers.needsWakeUp(at: start + .seconds(1)))
        #expect(timers.needsWakeUp(at: start + .seconds(-1)))
        timers.wokeUp(at: start + .seconds(-1))
        #expect(!timers.needsWakeUp(at: start))
        timers.wokeUp(at: start)
        #expect(timers.needsWakeUp(at: start))
    }

    /// The lifetime of an event can end it only while it waits for the server.
    @Test func anEventThatMovesOnDoesNotExpire() {
        var bench = Bench()
        let id = bench.publish("/post/1", lifetime: .seconds(1))
        #expect(bench.router.events[id]?.expiryTimer == nil)
        bench.wait(.milliseconds(100))
        #expect(bench.router.events[id]?.expiryTimer != nil)
        bench.take(.claimedProvisionally(id, within: .seconds(10), by: ":1.2"))
        #expect(bench.router.events[id]?.expiryTimer == nil)
        #expect(bench.wait(.seconds(2)).outcomes.isEmpty)
        #expect(bench.take(.answered(id, .released, by: ":1.2")).outcomes == [id: .expired])
    }

    /// A retained value that loses, a route without banners and a publisher that wants none are silent before anything
    /// else.
    @Test func aSilentEventOfAScreenIsReadAndNotClaimed() throws {
        var bench = Bench()
        bench.take(.screenOpened(.all, ScreenOptions(), by: ":1.2"))
        let effects = bench.take(
            .published(
                Publication(
                    topic: try Topic("/post/1"), title: "", body: "",
                    options: { () -> PublishOptions in
                        var options = PublishOptions()
                        (options.banner, options.lifetime) = (false, .zero)
                        return options
                    }(), sender: Bench.peer)))
        #expect(effects.outcomes.isEmpty)
        #expect(effects.contains { if case .read(.event, ":1.2", _, _) = $0 { true } else { false } })
    }
}
