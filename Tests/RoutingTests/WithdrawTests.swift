import Testing

@testable import Routing

/// `Withdraw`, and updates of banners that report no new event.
struct WithdrawTests {
    private var bench = Bench()

    /// A banner with the number 7 that shows two events.
    private mutating func showTwo() -> (EventID, EventID) {
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        let second = bench.publish("/post/1")
        bench.take(.banner(bench.wait(.milliseconds(200)).banners[0].call, .shown(BannerID(7))))
        return (first, second)
    }

    @discardableResult
    private mutating func withdraw(_ id: EventID) -> [Effect] { bench.take(.withdrawn(id, by: Bench.peer)) }

    @Test mutating func theOutcomeSaysWho() {
        let event = bench.publish("/post/1")
        let effects = withdraw(event)
        #expect(bench.reply == .success(.done))
        #expect(effects.resolutions[event]?.outcome == .withdrawn)
        #expect(effects.resolutions[event]?.claimant == Bench.peer)
        #expect(bench.router.rememberedEvents == 0)
        #expect(bench.router.openWindows == 0)
        #expect(bench.router.statistics[.withdrawn] == 1)
    }

    @Test mutating func aDecidedEventKeepsItsOutcome() {
        let event = bench.publish("/post/1")
        bench.take(.claimed(event, by: Bench.peer))
        #expect(withdraw(event).outcomes.isEmpty)
        withdraw(EventID(99))
        #expect(bench.reply == .failure(.noEvent(EventID(99))))
    }

    @Test mutating func aHeldEventLeavesNobodyWaiting() {
        let event = bench.publish("/post/1")
        bench.take(.claimedProvisionally(event, within: .seconds(1), by: ":1.2"))
        bench.wait(.milliseconds(100))
        #expect(withdraw(event).outcomes == [event: .withdrawn])
        bench.take(.answered(event, .completed, by: ":1.2"))
        #expect(bench.reply?.refused(Refusal.notClaimant) != nil)
        bench.wait(.seconds(2))
    }

    @Test mutating func theBannerOfAnEventInFlightIsClosedWhenTheServerHasAnswered() {
        bench.take(.server(.ready))
        let event = bench.publish("/post/1")
        let request = bench.wait(.milliseconds(100)).banners[0]
        #expect(bench.router.isCurrent(request))
        let effects = withdraw(event)
        #expect(effects.outcomes == [event: .withdrawn])
        #expect(effects.closed.isEmpty)
        #expect(!bench.router.isCurrent(request))
        #expect(bench.take(.banner(request.call, .shown(BannerID(7)))).closed == [BannerID(7)])
    }

    @Test mutating func aBannerThatLosesAnOlderEventStillSpeaksOfTheNewest() {
        let (first, second) = showTwo()
        let update = withdraw(first).banners[0]
        #expect(update.replaces == BannerID(7))
        #expect(update.newest.id == second)
        #expect(update.count == 1)
    }

    @Test mutating func anUpdateSpeaksOfTheNewestThatIsLeft() {
        let (first, second) = showTwo()
        let update = withdraw(second).banners[0]
        #expect(update.replaces == BannerID(7))
        #expect(update.newest.id == first)
        #expect(update.count == 1)
        #expect(update.others.isEmpty)
        #expect(bench.router.isCurrent(update))
        let effects = bench.take(.banner(update.call, .shown(BannerID(7))))
        #expect(effects.outcomes.isEmpty)
        #expect(effects.banners.isEmpty)
    }

    @Test mutating func anUpdateIsNoNewBanner() {
        bench = Bench(banners: BannerSettings(maximumPerSecond: 1))
        bench.take(.server(.ready))
        let ids = (0..<2).map { _ in bench.publish("/post/1", window: .milliseconds(1)) }
        bench.take(.banner(bench.wait(.milliseconds(10)).banners[0].call, .shown(BannerID(7))))
        #expect(withdraw(ids[1]).banners.map(\.replaces) == [BannerID(7)])
    }

    @Test mutating func aRefusedUpdateIsAskedForAgain() {
        let (first, second) = showTwo()
        let update = withdraw(second).banners[0]
        let again = bench.take(.banner(update.call, .failed(.noAnswer))).banners
        #expect(again.map(\.newest.id) == [first])
        bench.take(.banner(again[0].call, .shown(BannerID(7))))
        #expect(bench.wait(.seconds(60)).banners.isEmpty)
    }

    @Test mutating func anUpdateThatIsNotNeededAnyMoreIsNotAskedForAgain() {
        let (first, second) = showTwo()
        let update = withdraw(second).banners[0]
        bench.take(.claimed(first, by: Bench.peer))
        #expect(!bench.router.isCurrent(update))
        let effects = bench.take(.banner(update.call, .failed(.notAsked)))
        #expect(effects.banners.isEmpty)
        #expect(effects.closed == [BannerID(7)])
    }

    @Test mutating func aWithdrawalDuringAnUpdateNeedsAnother() {
        let (first, second) = showTwo()
        let third = bench.publish("/post/1")
        let update = bench.wait(.milliseconds(100)).banners[0]
        #expect(withdraw(second).banners.isEmpty)
        let next = bench.take(.banner(update.call, .shown(BannerID(7)))).banners
        #expect(next.map(\.newest.id) == [third])
        #expect(next.map(\.count) == [2])
        #expect(next[0].others.map(\.id) == [first])
    }

    /// The server showed it after all, long after the router had given up.
    @Test mutating func aLateAnswerOfWhatWasWithdrawnIsCorrected() {
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        let second = bench.publish("/post/1")
        let call = bench.wait(.milliseconds(200)).banners[0].call
        // The circuit opens, so that nothing is asked for meanwhile.
        bench.wait(.seconds(5))
        for _ in 0..<2 { bench.wait(.seconds(5)) }
        #expect(bench.router.isServerCircuitOpen)
        withdraw(second)
        let effects = bench.take(.banner(call, .shown(BannerID(7))))
        #expect(effects.outcomes == [first: .shown])
        let update = (effects + bench.wait(.milliseconds(100))).banners
        #expect(update.map(\.newest.id) == [first])
        #expect(update.map(\.replaces) == [BannerID(7)])
    }

    @Test mutating func anotherServerHasNothingToUpdate() {
        let (_, second) = showTwo()
        withdraw(second)
        bench.take(.server(.gone))
        #expect(bench.take(.server(.ready)).banners.isEmpty)
    }

    @Test mutating func theSummaryIsUpdatedAtMostOnceASecond() {
        bench = Bench(banners: BannerSettings(maximumPerSecond: 1))
        bench.take(.server(.ready))
        let ids = (0..<5).map { bench.publish("/post/\($0)", window: .milliseconds(1)) }
        var effects = bench.wait(.milliseconds(10))
        var summary: BannerRequest?
        for number in 1...3 as ClosedRange<UInt32> {
            guard let request = effects.banners.first else { break }
            if request.isSummary { summary = request }
            effects = bench.take(.banner(request.call, .shown(BannerID(number))))
            effects += bench.wait(.milliseconds(100))
        }
        #expect(summary?.newest.id == ids[4])
        #expect(withdraw(ids[4]).banners.isEmpty)
        let update = bench.wait(.seconds(1)).banners
        #expect(update.map(\.newest.id) == [ids[3]])
    }
}
