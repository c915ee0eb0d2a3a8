import Testing

@testable import Routing

private let start = Instant(microseconds: 5_000_000)
private let key = CoalescingKey.event(.sample(1))
private let other = CoalescingKey.event(.sample(2))

@Suite struct BannersTests {
    private var timers = Router.Timers()
    private var banners = Banners()

    @Test mutating func bannersAreSentInTheOrderInWhichTheyWereQueued() {
        banners.wait(EventID(1), in: key)
        banners.wait(EventID(2), in: other)
        banners.wait(EventID(3), in: key)
        let sent = [banners.dequeue(), banners.dequeue(), banners.dequeue()]
        #expect(sent == [key, other, nil])
    }

    @Test mutating func aRemovedBannerLosesItsPlaceInTheQueue() {
        banners.wait(EventID(1), in: key)
        banners.wait(EventID(2), in: other)
        banners.stopWaiting(EventID(1), in: key)
        banners.removeIfUnused(key)
        banners.wait(EventID(3), in: key)
        let sent = [banners.dequeue(), banners.dequeue()]
        #expect(sent == [other, key])
        #expect(banners.queuedCount == 0)
    }

    @Test mutating func theSummaryIsNotQueuedWhileItsTimerIsArmed() {
        banners.wait(EventID(1), in: .summary)
        #expect(banners.dequeue() == .summary)
        _ = banners.begin(.summary, first: EventID(1), isExclusive: false, at: start, timers: &timers)
        banners.wait(EventID(2), in: .summary)
        #expect(banners.queuedCount == 0)
        banners.summaryTimerFired(at: start + .seconds(1))
        #expect(banners.queuedCount == 1)
    }

    @Test mutating func whatWaitsIsInFlightDuringACall() {
        banners.wait(EventID(1), in: key)
        let call = banners.begin(key, first: EventID(1), isExclusive: false, at: start, timers: &timers)
        #expect(banners[key]?.waiting.isEmpty == true)
        #expect(banners.emptyBanner(key) == nil)
        let ended = (1...2).map { _ in banners.end(call, .notAsked, at: start, timers: &timers)?.call.id }
        #expect(ended == [call, nil])
        #expect(banners.takeInFlight(key).map(\.rawValue) == [1])
    }

    @Test mutating func aBannerKeepsItsFirstEventWhenItsNumberChanges() {
        banners.setNumber(BannerID(7), of: key, first: EventID(1))
        banners.setNumber(BannerID(8), of: key, first: EventID(5))
        #expect(banners.keys == [BannerID(8): key])
        #expect(banners[key]?.first == EventID(1))
        #expect(banners.emptyBanner(key) == BannerID(8))
    }

    @Test mutating func aBannerWithoutEventsGoesWithItsNumber() {
        banners.setNumber(BannerID(7), of: key, first: EventID(1))
        banners.setNumber(BannerID(8), of: other, first: EventID(2))
        banners.wait(EventID(2), in: other)
        for id: UInt32 in [7, 8] { banners.removeNumber(BannerID(id)) }
        #expect(banners[key] == nil)
        #expect(banners[other]?.id == nil)
        #expect(banners.count == 1)
    }
}

@Suite struct ServerCallsTests {
    private var timers = Router.Timers()
    private var server = ServerCalls()

    private mutating func begin(isExclusive: Bool = false) -> BannerCall {
        server.begin(for: key, isExclusive: isExclusive, at: start, timers: &timers)
    }

    @Test mutating func aCallEndsOnce() {
        server.serverAppeared(at: start)
        let call = begin()
        let ends = (1...2).map { _ in server.end(call, .notAsked, at: start, timers: &timers) }
        #expect(ends == [key, nil])
    }

    @Test mutating func onlyTheNewestTimedOutCallsAreKept() {
        server.serverAppeared(at: start)
        var calls: [BannerCall] = []
        for _ in 1...3 {
            let id = begin()
            let call = Banner.Call(id: id, at: start, first: EventID(1), delays: server.delays)
            _ = server.end(id, .noAnswer, at: start, timers: &timers)
            server.keepTimedOut(TimedOutCall(key: key, call: call, inFlight: SortedIDs()), limit: 2)
            calls.append(id)
        }
        let late = calls.map { server.answeredLate($0, isShown: true, at: start, timers: &timers)?.call.id }
        #expect(late == [nil, calls[1], calls[2]])
    }

    @Test mutating func anExclusiveCallHoldsOthersBackUntilItsTimerFires() throws {
        server.serverAppeared(at: start)
        _ = begin(isExclusive: true)
        #expect(!server.allowsCall)
        server.fired(try #require(server.exclusiveTimer), at: start + .milliseconds(100))
        #expect(server.allowsCall && server.exclusiveTimer == nil)
        #expect(server.delays.delay(since: start, isSummary: false) == .busy)
    }

    @Test mutating func nothingIsAwaitedOfAServerThatIsGone() {
        server.serverAppeared(at: start)
        let calls = (1...4).map { begin(isExclusive: $0 == 4) }
        for call in calls[..<3] { _ = server.end(call, .noAnswer, at: start, timers: &timers) }
        #expect(server.isCircuitOpen)
        server.serverVanished(at: start)
        #expect(server.end(calls[3], nil, at: start, timers: &timers) == nil)
        #expect(!server.isCircuitOpen && server.cooldownTimer == nil && server.exclusiveTimer == nil)
    }
}
