import Testing

@testable import Routing

/// Parts of the router by themselves: what only they change.
struct OwnedStateTests {
    private let start = Instant(microseconds: 1_000_000)

    @Test func aChangeOfSnoozesIsTakenOnce() {
        var (snoozes, timers) = (Snoozes(), Router.Timers())
        snoozes.end(EventID(1))
        #expect([snoozes.takeChange()] == [false])
        let due = Uptime(microseconds: 1)
        snoozes.begin(EventID(1), due, timers.schedule(.snooze(EventID(1)), at: due), bytes: 1)
        #expect([snoozes.takeChange(), snoozes.takeChange()] == [true, false])
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
        var options = PublishOptions()
        (options.banner, options.lifetime) = (false, .zero)
        let effects = bench.push("/post/1", options)
        #expect(effects.outcomes.isEmpty)
        #expect(effects.contains { if case .read(.event, ":1.2", _, _) = $0 { true } else { false } })
    }
}
