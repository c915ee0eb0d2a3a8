import Testing

@testable import Routing

/// Banners that an earlier run left up are dealt with as if there had been no restart.
struct RestoredBannerTests {
    private var bench = Bench()

    /// A banner that shows the events, which are all of `/post/1`, with the number 7.
    private mutating func restore(
        _ ids: UInt64..., limits: Limits = Limits(), isSummary: Bool = false, firstID: EventID = EventID(1)
    ) -> [Effect] {
        bench = Bench(limits: limits, firstID: firstID)
        var restoration = Restoration()
        restoration.lastID = EventID(100)
        restoration.banners = [Self.banner(7, ids, isSummary: isSummary)]
        let effects = bench.take(.restored(restoration))
        bench.take(.server(.ready))
        return effects
    }

    private static func banner(_ number: UInt32, _ ids: [UInt64], isSummary: Bool = false) -> RestoredBanner {
        RestoredBanner(
            BannerID(number), first: EventID(ids.first ?? 1), isSummary: isSummary,
            events: ids.map { (event: .sample($0), age: .seconds(60)) })
    }

    @Test mutating func theLastClaimTakesItDown() {
        _ = restore(1, 2)
        #expect(bench.take(.claimed(EventID(1), by: Bench.peer)).closed.isEmpty)
        let effects = bench.take(.claimed(EventID(2), by: Bench.peer))
        #expect(effects.closed == [BannerID(7)])
        #expect(effects.outcomes == [EventID(2): .retracted])
        #expect(effects.resolutions[EventID(2)]?.latency == .seconds(60))
        #expect(effects.forgotten == [BannerID(7)])
    }

    @Test mutating func aTopicClaimTakesItDown() throws {
        _ = restore(1, 2)
        let effects = bench.take(.topicClaimed(try TopicPrefix("/post"), .grace(.zero), by: Bench.peer))
        #expect(effects.closed == [BannerID(7)])
        #expect(effects.outcomes == [EventID(1): .retracted, EventID(2): .retracted])
    }

    @Test mutating func aScreenTakesItDown() throws {
        _ = restore(1)
        let effects = bench.take(.screenOpened(try TopicPrefix("/post/1"), ScreenOptions(), by: Bench.peer))
        #expect(effects.closed == [BannerID(7)])
    }

    @Test mutating func aRecalledBannerKeepsItsName() throws {
        var limits = Limits()
        limits.snoozes = 0
        bench = Bench(limits: limits, firstID: EventID(100), oldestID: EventID(0))
        bench.take(.server(.ready))
        let banner = RestoredBanner(BannerID(7), first: EventID(1), isSummary: false, events: [])
        // A snooze that is refused leaves it in memory.
        let cold = ColdEvent(.sample(2), age: .seconds(60), .shown(banner, isShared: false))
        bench.take(.snoozed(EventID(2), for: .seconds(60), by: Bench.peer), reading: Stored(events: [cold]))
        let further = bench.publish("/post/1")
        let request = try #require(bench.wait(.milliseconds(100)).banners.first)
        #expect(request.replaces == BannerID(7))
        let effects = bench.take(.banner(request.call, .shown(BannerID(7))))
        #expect(effects.resolutions[further]?.shownWith == EventID(1))
    }

    @Test mutating func aFurtherEventUpdatesItInPlace() {
        _ = restore(1, 2)
        let event = bench.publish("/post/1")
        let request = bench.wait(.milliseconds(100)).banners[0]
        #expect(request.replaces == BannerID(7))
        #expect(request.count == 3)
        let effects = bench.take(.banner(request.call, .shown(BannerID(7))))
        #expect(effects.resolutions[event]?.shownWith == EventID(1))
        #expect(effects.kept.isEmpty)
    }

    /// The server had dropped it meanwhile, or numbers updates as it likes.
    @Test mutating func anUpdateWithANumberOfItsOwnIsKeptUnderThat() {
        _ = restore(1)
        bench.publish("/post/1")
        let request = bench.wait(.milliseconds(100)).banners[0]
        let effects = bench.take(.banner(request.call, .shown(BannerID(9))))
        #expect(effects.forgotten == [BannerID(7)])
        #expect(effects.kept == [BannerID(9): EventID(1)])
        #expect(bench.take(.claimed(EventID(1), by: Bench.peer)).closed.isEmpty)
        #expect(bench.take(.claimed(EventID(101), by: Bench.peer)).closed == [BannerID(9)])
    }

    @Test mutating func aServerThatDoesNotKnowItGetsANewOne() {
        _ = restore(1)
        bench.publish("/post/1")
        let request = bench.wait(.milliseconds(100)).banners[0]
        let effects = bench.take(.banner(request.call, .failed(.unknownBanner)))
        #expect(effects.forgotten == [BannerID(7)])
        #expect(effects.banners.map(\.replaces) == [nil])
        #expect(effects.banners.map(\.count) == [1])
    }

    @Test mutating func itsDismissalIsAnOutcome() {
        _ = restore(1, 2)
        let effects = bench.take(.bannerClosed(BannerID(7), .dismissed))
        #expect(effects.outcomes == [EventID(1): .dismissed, EventID(2): .dismissed])
        #expect(effects.forgotten == [BannerID(7)])
    }

    @Test mutating func itsButtonIsThatOfTheNewestEvent() {
        _ = restore(1, 2, firstID: EventID(101))
        #expect(bench.take(.actionInvoked(BannerID(7), action: "default")).isEmpty)
        let effects = bench.take(.actionInvoked(BannerID(7), action: "of an earlier configuration"))
        let relayed = effects.compactMap { if case .relayAction(let event, _) = $0 { event.id } else { nil } }
        #expect(relayed == [EventID(2)])
    }

    @Test mutating func onceItIsGoneALateClaimClosesNothing() {
        _ = restore(1)
        #expect(bench.take(.bannerClosed(BannerID(7), .other)).forgotten == [BannerID(7)])
        let effects = bench.take(.claimed(EventID(1), by: Bench.peer))
        #expect(effects.closed.isEmpty)
        #expect(effects.outcomes == [EventID(1): .retracted])
    }

    @Test mutating func anotherServerVoidsIt() {
        _ = restore(1)
        let effects = bench.take(.server(.gone))
        #expect(effects.contains { if case .keepBanner(.allGone) = $0 { true } else { false } })
        #expect(bench.take(.claimed(EventID(1), by: Bench.peer)).closed.isEmpty)
    }

    /// Its events are claimed, and the one that it waited for comes again.
    @Test mutating func oneWithNothingBehindItIsClosed() {
        let effects = restore()
        #expect(effects.closed == [BannerID(7)])
        #expect(effects.forgotten == [BannerID(7)])
    }

    @Test mutating func theSummaryIsStillTheSummary() {
        _ = restore(1, 2, isSummary: true)
        bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).banners.map(\.replaces) == [nil])
    }

    @Test mutating func whatIsBeyondTheLimitIsLeftToTheJournal() {
        var limits = Limits()
        limits.retractableEvents = 1
        _ = restore(1, 2, limits: limits)
        #expect(bench.router.rememberedEvents == 0)
        #expect(bench.router.banners.hasUnknown)
        #expect(bench.take(.bannerClosed(BannerID(7), .other)).forgotten == [BannerID(7)])
    }

    @Test mutating func theOldestAreForgottenFirst() {
        var limits = Limits()
        limits.retractableEvents = 3
        _ = restore(5, 6, limits: limits)
        var restoration = Restoration()
        restoration.banners = [Self.banner(3, [2])]
        bench.take(.restored(restoration))
        bench.publish("/post/2")
        let effects = bench.wait(.milliseconds(100))
        bench.take(.banner(effects.banners[0].call, .shown(BannerID(8))))
        #expect(!bench.router.remembers(EventID(2)))
        #expect(bench.router.remembers(EventID(5)))
    }

    @Test mutating func itsWindowIsSaidOnceOnly() {
        _ = restore(1)
        let resolution = bench.take(.claimed(EventID(1), by: Bench.peer)).resolutions[EventID(1)]
        #expect(resolution != nil)
        #expect(resolution?.opened == nil)
        #expect(resolution?.deadline == nil)
    }

    @Test func whatIsUpIsKeptUntilItIsClosed() {
        var bench = Bench()
        bench.take(.server(.ready))
        let event = bench.publish("/post/1")
        let request = bench.wait(.milliseconds(100)).banners[0]
        let shown = bench.take(.banner(request.call, .shown(BannerID(4))))
        #expect(shown.kept == [BannerID(4): event])
        #expect(shown.resolutions[event]?.shownWith == event)
        #expect(bench.take(.claimed(event, by: Bench.peer)).forgotten == [BannerID(4)])
    }
}

extension [Effect] {
    fileprivate var kept: [BannerID: EventID] {
        reduce(into: [:]) { if case .keepBanner(.up(let id, let first, _)) = $1 { $0[id] = first } }
    }

    fileprivate var forgotten: [BannerID] {
        compactMap { effect in
            switch effect {
            case .keepBanner(.gone(let id)), .keepBanner(.closed(let id)): id
            default: nil
            }
        }
    }
}
