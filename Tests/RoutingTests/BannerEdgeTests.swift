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

/// The urgency of a banner that speaks of several events.
struct BannerUrgencyTests {
    private var bench = Bench()

    @discardableResult
    private mutating func publish(_ urgency: Urgency?) -> EventID {
        var options = PublishOptions()
        options.urgency = urgency
        return bench.publish("/post/1", options: options)
    }

    private mutating func urgencies(_ publisher: [Urgency?]) -> [Urgency?] {
        bench = Bench()
        bench.take(.server(.ready))
        for urgency in publisher { publish(urgency) }
        return bench.wait(.milliseconds(100)).banners.map(\.urgency)
    }

    @Test mutating func itIsTheHighestOfItsEvents() {
        #expect(urgencies([.critical, .normal]) == [.critical])
        #expect(urgencies([.critical, nil, .low]) == [.critical])
        #expect(urgencies([.normal, .low]) == [.normal])
        // None is sent, which servers treat as normal.
        #expect(urgencies([nil, .low]) == [nil])
        #expect(urgencies([.low, .low]) == [.low])
    }

    @Test mutating func aBannerThatIsUpdatedStaysCriticalUntilThatEventIsClaimed() {
        bench.take(.server(.ready))
        let critical = publish(.critical)
        bench.take(.banner(bench.wait(.milliseconds(100)).banners[0].call, .shown(BannerID(7))))
        bench.take(.stored(except: []))
        publish(.normal)
        let update = bench.wait(.milliseconds(100)).banners[0]
        #expect(update.replaces == BannerID(7) && update.urgency == .critical)
        bench.take(.banner(update.call, .shown(BannerID(7))))
        bench.take(.stored(except: []))
        bench.take(.claimed(critical, by: Bench.peer))
        publish(.low)
        #expect(bench.wait(.milliseconds(100)).banners.map(\.urgency) == [.normal])
    }
}

/// A banner that is up goes when nothing is left behind it, also where the last event waits to be added to it.
struct EmptyBannerTests {
    private var bench = Bench(banners: BannerSettings(maximumPerSecond: 0))
    private let second: EventID

    /// The first event was shown and is claimed since; the second waits, because the circuit is open.
    init() {
        bench.callsLeave = false
        bench.take(.server(.ready))
        let first = bench.publish("/post/27")
        bench.take(.banner(bench.wait(.milliseconds(100)).banners[0].call, .shown(BannerID(9))))
        second = bench.publish("/post/27")
        var effects = bench.wait(.milliseconds(100))
        for _ in 1...3 {
            for banner in effects.banners { effects = bench.take(.banner(banner.call, .failed(.noAnswer))) }
        }
        bench.take(.claimed(first, by: Bench.peer))
    }

    @Test mutating func itGoesWhenTheLastEventIsClaimed() {
        #expect(bench.take(.claimed(second, by: Bench.peer)).closed == [BannerID(9)])
    }

    @Test mutating func itGoesWhenTheLastEventIsClaimedProvisionally() {
        let effects = bench.take(.claimedProvisionally(second, within: .seconds(5), by: Bench.peer))
        #expect(effects.closed == [BannerID(9)])
    }

    @Test mutating func itGoesWhenTheLastEventIsMuted() {
        bench.take(.quieted(nil, for: .zero))
        #expect(bench.wait(.seconds(30)).closed == [BannerID(9)])
    }
}

/// A banner that is decided on leaves for the server later: at the end of the turn, and once it is known what the
/// server can do.
struct UnsentBannerTests {
    private var bench: Bench
    private let first: EventID
    private let second: EventID
    private let request: BannerRequest

    /// Two events are behind a banner that has not left.
    init() throws {
        bench = Bench([Route(pattern: try TopicPattern("/post/{id}"), window: .milliseconds(100), coalescing: .route)])
        bench.callsLeave = false
        bench.take(.server(.ready))
        first = bench.publish("/post/1")
        second = bench.publish("/post/2")
        request = try #require(bench.wait(.milliseconds(100)).banners.first)
    }

    private mutating func claim(_ id: EventID) -> [Effect] { bench.take(.claimed(id, by: Bench.peer)) }

    @Test mutating func aClaimOfAnEventInItIsInTime() throws {
        for id in [first, second] {
            let effects = claim(id)
            #expect(bench.reply == .success(.verdict(.suppressed)), "the verdict on \(id)")
            #expect(effects.outcomes == [id: .claimed])
        }
        #expect(!bench.router.isCurrent(request))
        let effects = bench.take(.banner(request.call, .failed(.notAsked)))
        #expect(effects.banners.isEmpty && effects.closed.isEmpty)
        #expect(bench.router.rememberedEvents == 0)
    }

    @Test mutating func aClaimOfAnEventInItIsLateOnceItHasLeft() {
        bench.take(.banner(request.call, .sent))
        #expect(claim(first).outcomes == [first: .retracted])
        _ = claim(second)
        #expect(bench.reply == .success(.verdict(.retracted)))
        #expect(bench.take(.banner(request.call, .shown(BannerID(7)))).closed == [BannerID(7)])
    }

    @Test mutating func theOthersAreAskedForWithoutIt() {
        _ = claim(second)
        #expect(!bench.router.isCurrent(request))
        let again = bench.take(.banner(request.call, .failed(.notAsked))).banners
        #expect(again.map(\.newest.id) == [first] && again.map(\.count) == [1])
        #expect(bench.router.isCurrent(again[0]))
    }

    /// There are two again, but not the same two.
    @Test mutating func anEventThatComesMeanwhileHidesNoClaim() {
        _ = claim(first)
        let third = bench.publish("/post/3", window: .zero)
        bench.wait(.zero)
        #expect(!bench.router.isCurrent(request))
        let again = bench.take(.banner(request.call, .failed(.notAsked))).banners
        #expect(again.map(\.newest.id) == [third] && again[0].others.map(\.id) == [second])
    }

    @Test mutating func aProvisionalClaimOfAnEventInItIsInTime() {
        bench.take(.claimedProvisionally(second, within: .seconds(1), by: Bench.peer))
        #expect(bench.reply == .success(.verdict(.suppressed)))
        let again = bench.take(.banner(request.call, .failed(.notAsked))).banners
        #expect(again.map(\.newest.id) == [first])
        bench.take(.banner(again[0].call, .sent))
        bench.take(.banner(again[0].call, .shown(BannerID(7))))
        let update = bench.take(.answered(second, .released, by: Bench.peer)).banners
        #expect(update.map(\.newest.id) == [second] && update.map(\.replaces) == [BannerID(7)])
    }

    @Test mutating func anUpdateThatHasNotLeftLeavesTheBannerAsItIs() throws {
        bench.take(.banner(request.call, .sent))
        bench.take(.banner(request.call, .shown(BannerID(7))))
        let third = bench.publish("/post/3", window: .zero)
        let update = try #require(bench.wait(.zero).banners.first)
        #expect(claim(third).outcomes == [third: .claimed])
        #expect(!bench.router.isCurrent(update))
        let effects = bench.take(.banner(update.call, .failed(.notAsked)))
        #expect(effects.banners.isEmpty && effects.closed.isEmpty)
    }
}

/// A notification server is started when a banner is due, and only then.
struct ServerActivationTests {
    private var bench = Bench(banners: BannerSettings(startsServer: true))

    @Test mutating func aServerIsStartedOnceWhenTheFirstBannerIsDue() {
        #expect(bench.wait(.seconds(60)).starts == 0)
        bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).starts == 1)
        bench.publish("/post/2")
        #expect(bench.wait(.milliseconds(100)).starts == 0)
        #expect(bench.take(.server(.ready)).banners.count == 1)
    }

    @Test mutating func nothingIsStartedForWhatIsClaimedOrMuted() {
        let claimed = bench.publish("/post/1")
        #expect(bench.take(.claimed(claimed, by: Bench.peer)).starts == 0)
        bench.take(.quieted(nil, for: .zero))
        bench.publish("/post/2")
        #expect(bench.wait(.milliseconds(100)).starts == 0)
    }

    @Test mutating func attemptsBecomeRarerAndEnd() {
        bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).starts == 1)
        #expect(bench.wait(.milliseconds(4_900)).starts == 0)
        #expect(bench.wait(.milliseconds(100)).starts == 1)
        #expect(bench.wait(.seconds(9)).starts == 0)
        #expect(bench.wait(.seconds(1)).starts == 1)
        var starts = 0
        for _ in 0..<2_000 { starts += bench.wait(.seconds(5)).starts }
        // By the time alone six; another input may cause one every ten minutes.
        #expect((3...25).contains(starts))
    }

    @Test mutating func aServerThatHasShownABannerIsStartedAgainAtOnce() {
        bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        let call = bench.take(.server(.ready)).banners[0].call
        bench.take(.banner(call, .shown(BannerID(1))))
        #expect(bench.take(.server(.gone)).starts == 0)
        bench.publish("/post/2")
        #expect(bench.wait(.milliseconds(100)).starts == 1)
    }

    @Test func nothingIsStartedWhereThatIsSwitchedOff() {
        var bench = Bench()
        bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).starts == 0)
    }
}
