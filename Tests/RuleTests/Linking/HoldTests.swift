import Routing
import Testing

@testable import Linking

/// Rule 16 of docs/link.md: banners that wait for a screen elsewhere, or until the line has caught up.
struct HoldTests {
    private static let digest = Digest("00000000000000000000000000000000")!

    private func bench(lookingAt attended: [Digest] = [HoldTests.digest], last: UInt64 = 1) -> LinkTests.Bench {
        let bench = LinkTests.Bench()
        bench.hear(.presence(LinkTests.other), .presence(Presence(connection: 1, isOnline: true)))
        bench.hear(
            .description(LinkTests.other),
            .description(Description(counter: 1, name: "phone", first: 1, last: last, attended: attended)))
        return bench
    }

    private func announce(
        _ bench: LinkTests.Bench, _ number: UInt64, by device: Device = LinkTests.own, via: String = ""
    ) -> Duration? {
        let announced = AnnouncedEvent(
            id: EventID(number), name: GlobalName(device: device, id: number), topic: LinkTests.topic, via: via,
            hasWindow: true)
        for case .hold(_, let duration) in bench.give(.announced(announced)) { return duration }
        return nil
    }

    private func released(_ effects: [LinkEffect]) -> [EventID] {
        effects.compactMap { if case .release(let id) = $0 { id } else { nil } }
    }

    @Test func atMostSoManyEventsWaitAtATime() {
        let bench = bench()
        for number in 1...256 { #expect(announce(bench, UInt64(number)) == .milliseconds(600)) }
        #expect(announce(bench, 257) == nil)
        bench.give(.decided(EventID(7)))
        #expect(announce(bench, 258) == .milliseconds(600))
        bench.time += 600_000
        bench.give(.timerFired)
        #expect(announce(bench, 259) == .milliseconds(600))
    }

    @Test func noEventWaitsForAScreenOfTheDeviceThatPublishedIt() {
        #expect(announce(bench(), 1, by: LinkTests.other, via: "mqtt") == nil)
    }

    /// Nobody else hears of it.
    @Test func anEventThatStaysOnItsDeviceWaitsForNobody() {
        let event = AnnouncedEvent(
            id: EventID(1), name: GlobalName(source: "local:map:x", eventID: "1"), topic: LinkTests.topic,
            via: "mqtt:/map", hasWindow: true)
        #expect(!bench().give(.announced(event)).contains { if case .hold = $0 { true } else { false } })
    }

    @Test func aScreenThatIsClosedIsNotWaitedFor() {
        let bench = bench()
        _ = announce(bench, 1)
        let effects = bench.hear(
            .description(LinkTests.other), .description(Description(counter: 2, name: "phone", first: 1, last: 1)))
        #expect(released(effects) == [EventID(1)])
        #expect(announce(bench, 2) == nil)
    }

    @Test func aDeviceThatLeavesIsNotWaitedFor() {
        let bench = bench()
        _ = announce(bench, 1)
        let effects = bench.hear(
            .presence(LinkTests.other), .presence(Presence(connection: 1, isOnline: false)))
        #expect(released(effects) == [EventID(1)])
        #expect(announce(bench, 2) == nil)
    }

    // MARK: Behind

    /// Numbers 2001 to 2004 are missing.
    private func behind() -> LinkTests.Bench {
        let bench = bench(lookingAt: [], last: 1999)
        bench.hearEvent(2000, previous: 1999)
        bench.hearEvent(2005, previous: 2004)
        return bench
    }

    @Test func windowsLastWhileTheLineIsBehind() {
        let bench = behind()
        let hold = announce(bench, 2000, by: LinkTests.other, via: "mqtt")
        #expect(hold == .seconds(60))
        // What began here waits for nobody.
        #expect(announce(bench, 1) == nil)
        bench.time += 20_000_000
        #expect(announce(bench, 2005, by: LinkTests.other, via: "mqtt") == .seconds(40))
        bench.time += 40_000_000
        #expect(released(bench.give(.timerFired)) == [EventID(2000), EventID(2005)])
        // Not again, before it has caught up.
        #expect(announce(bench, 2006, by: LinkTests.other, via: "mqtt") == nil)
    }

    @Test func windowsEndWhenTheLineHasCaughtUp() {
        let bench = behind()
        #expect(announce(bench, 2000, by: LinkTests.other, via: "mqtt") != nil)
        let effects = bench.hear(
            .stream(LinkTests.other), .entry(StreamEntry(number: 2004, previous: 2000, content: .nothing)))
        #expect(released(effects) == [EventID(2000)])
        #expect(announce(bench, 2005, by: LinkTests.other, via: "mqtt") == nil)
    }

    /// What the broker has kept for the session comes before the own presence, and before the descriptions of the
    /// others.
    @Test func windowsLastWhileTheBrokerSendsWhatItHasKept() {
        let bench = bench(lookingAt: [], last: 1999)
        bench.give(.disconnected)
        bench.time += 100_000_000
        // Local events, meanwhile, use up nothing of the time.
        #expect(announce(bench, 1) == nil)
        bench.time += 100_000_000
        bench.give(.timerFired)
        bench.give(.connecting)
        var windows: [UInt32?] = []
        for case .publish(_, _, _, let window) in bench.hearEvent(2000, previous: 1999) { windows.append(window) }
        // The hold follows.
        #expect(windows == [2000])
        #expect(announce(bench, 2000, by: LinkTests.other, via: "mqtt") == .seconds(60))
        var own: Presence?
        for case .send(_, .presence, let message?) in bench.give(.connected) {
            if case .presence(let presence) = message.body { own = presence }
        }
        #expect(released(bench.hear(.presence(LinkTests.own), .presence(own!), from: LinkTests.own)) == [EventID(2000)])
        #expect(announce(bench, 2001, by: LinkTests.other, via: "mqtt") == nil)
    }

    /// What the broker has kept says nothing of the clocks, and an event that has expired does not live on.
    @Test func whatTheBrokerHasKeptIsNotLive() {
        let bench = bench(lookingAt: [], last: 1999)
        bench.give(.disconnected)
        bench.time += 600_000_000
        bench.give(.connecting)
        // Said 500 s ago, when its event had just expired.
        let message = Message(
            device: LinkTests.other, at: 1_700_000_000_000_000 + bench.time - 500_000_000,
            body: .entry(StreamEntry(number: 2000, previous: 1999, content: .event(bench.event(2000)))))
        let effects = bench.give(
            .received(
                Delivery(
                    address: .stream(LinkTests.other),
                    content: .message(message, signer: nil))))
        var lifetimes: [UInt32] = []
        for case .publish(_, _, let ttl, _) in effects { lifetimes.append(ttl) }
        #expect(lifetimes == [0])
    }
}
