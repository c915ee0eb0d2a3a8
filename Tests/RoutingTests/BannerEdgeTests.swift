import Testing

@testable import Routing

/// What happens to events and banners when claims, answers and ends of lifetimes meet.
struct BannerEdgeTests {
    @Test func aStaleEventIsNotAskedForAgainAfterAFailure() {
        var bench = Bench()
        bench.take(.server(.ready))
        let event = bench.publish("/post/1", lifetime: .seconds(1))
        let call = bench.wait(.milliseconds(100)).banners[0].call
        bench.pass(.seconds(2))
        let effects = bench.take(.banner(call, .failed(.noAnswer)))
        #expect(effects.banners.isEmpty)
        #expect(effects.outcomes == [event: .expired])
    }

    @Test(arguments: [BannerFailure.noAnswer, .unknownBanner])
    func whatComesUpDuringACallIsShownAfterItFailed(_ failure: BannerFailure) {
        var bench = Bench()
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        let call = bench.wait(.milliseconds(100)).banners[0].call
        let second = bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        bench.take(.claimed(first, by: Bench.peer))
        #expect(bench.take(.banner(call, .failed(failure))).banners.map(\.newest.id) == [second])
    }

    @Test func whatComesUpDuringACallIsShownByTheNextServer() {
        var bench = Bench()
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        let second = bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        bench.take(.claimed(first, by: Bench.peer))
        bench.take(.server(.gone))
        #expect(bench.take(.server(.ready)).banners.map(\.newest.id) == [second])
    }

    @Test func aClaimKnowsTheDeadlineThatALaterEventMoved() {
        var bench = Bench()
        let first = bench.publish("/post/1")
        bench.pass(.milliseconds(50))
        bench.publish("/post/1")
        let resolution = bench.take(.claimed(first, by: Bench.peer)).resolutions[first]
        #expect(resolution?.deadline == resolution?.opened.map { $0 + .milliseconds(150) })
    }

    /// The questions were never taken back, and a screen that stayed open collected them.
    @Test func nobodyIsAskedAboutAHeldEventWhoseWindowIsOver() throws {
        var bench = Bench()
        var options = ScreenOptions()
        options.mode = .ask
        bench.take(.screenOpened(try TopicPrefix("/post"), options, by: ":1.2"))
        let event = bench.publish("/post/1")
        bench.take(.claimedProvisionally(event, within: .seconds(1), by: Bench.peer))
        bench.wait(.milliseconds(100))
        #expect(bench.router.openScreens[0].asked.isEmpty)
        bench.take(.server(.ready))
        #expect(bench.wait(.seconds(1)).banners.map(\.newest.id) == [event])
    }

    /// The first claim leaves the window with nothing to wait for, and banners are paused.
    @Test func aTopicClaimTakesAllThatIsOpenAtOneStroke() throws {
        var bench = Bench([
            Route(pattern: try TopicPattern("/ask/{id}"), window: .seconds(1), wait: .screens, coalescing: .route)
        ])
        var options = ScreenOptions()
        options.mode = .ask
        bench.take(.screenOpened(try TopicPrefix("/ask/a"), options, by: ":1.2"))
        let asked = bench.publish("/ask/a")
        let other = bench.publish("/ask/b")
        bench.take(.quieted(nil, for: .zero))
        let effects = bench.take(.topicClaimed(try TopicPrefix("/ask"), .grace(.zero), by: Bench.peer))
        #expect(effects.outcomes == [asked: .claimed, other: .claimed])
    }

    @Test func aScreenThatStopsAskingClaimsWhatItWasAsked() throws {
        var bench = Bench([Route(pattern: try TopicPattern("/ask/{id}"), window: .seconds(1), wait: .screens)])
        var options = ScreenOptions()
        options.mode = .ask
        bench.take(.screenOpened(try TopicPrefix("/ask"), options, by: Bench.peer))
        let event = bench.publish("/ask/a")
        bench.take(.quieted(nil, for: .zero))
        options.mode = .auto
        let screen = bench.router.openScreens[0].id
        #expect(bench.take(.screenChanged(screen, options, by: Bench.peer)).outcomes == [event: .claimed])
    }

    /// Its window ended in the turn in which it came, for there is no screen to wait for.
    @Test func anEventThatCouldNotBeKeptNeverBecomesABanner() throws {
        var bench = Bench([Route(pattern: try TopicPattern("/ask/{id}"), window: .seconds(1), wait: .screens)])
        bench.take(.server(.ready))
        let event = bench.publish("/ask/a")
        bench.take(.stored(except: [event]))
        #expect(bench.wait(.seconds(5)).banners.isEmpty)
        #expect(bench.router.undecidedCount == 0)
    }

    @Test func aBannerNamesItsThreeNewestEvents() {
        var bench = Bench()
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        let second = bench.publish("/post/1")
        let shown = bench.wait(.milliseconds(200)).banners[0]
        #expect(shown.others.map(\.id) == [first])
        bench.take(.banner(shown.call, .shown(BannerID(7))))
        let third = bench.publish("/post/1")
        let fourth = bench.publish("/post/1")
        let update = bench.wait(.milliseconds(200)).banners[0]
        #expect(update.newest.id == fourth)
        #expect(update.others.map(\.id) == [third, second])
        #expect(update.count == 4)
    }

    @Test func aNumberThatIsGivenOutTwiceStandsForTheNewerBanner() {
        var bench = Bench()
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        bench.take(.banner(bench.wait(.milliseconds(100)).banners[0].call, .shown(BannerID(7))))
        let second = bench.publish("/post/2")
        bench.take(.banner(bench.wait(.milliseconds(100)).banners[0].call, .shown(BannerID(7))))
        #expect(bench.take(.claimed(first, by: Bench.peer)).closed.isEmpty)
        #expect(bench.take(.claimed(second, by: Bench.peer)).closed == [BannerID(7)])
        #expect(bench.router.rememberedEvents == 0)
    }
}
