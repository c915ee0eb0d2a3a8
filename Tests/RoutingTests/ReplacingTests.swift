import Testing

@testable import Routing

/// `collapse`: what becomes of the event that another one takes the place of.
struct ReplacingTests {
    private var bench = Bench()

    private mutating func publish(_ window: Duration? = nil, banner: Bool? = nil) -> EventID {
        bench.publish("/post/1", collapse: "k", window: window, banner: banner)
    }

    /// A banner with the number 7 that shows one event.
    private mutating func show() -> EventID {
        bench.take(.server(.ready))
        let event = publish()
        bench.take(.banner(bench.wait(.milliseconds(100)).banners[0].call, .shown(BannerID(7))))
        bench.take(.stored(except: []))
        return event
    }

    @Test mutating func theNewEventIsAnnouncedBeforeTheOutcomeOfTheOther() {
        let first = publish()
        let effects = bench.push("/post/1", Self.options)
        let words = effects.compactMap { effect -> String? in
            switch effect {
            case .announce(let event, _): "event \(event.id)"
            case .resolve(let id, _, let resolution): "\(id) \(resolution.outcome)"
            default: nil
            }
        }
        #expect(words == ["event 2", "1 replaced"])
        #expect(effects.resolutions[first]?.successor == EventID(2))
        #expect(bench.router.undecidedCount == 1)
        #expect(bench.router.statistics[.replaced] == 1)
    }

    private static let options: PublishOptions = {
        var options = PublishOptions()
        options.collapse = "k"
        return options
    }()

    @Test mutating func onlyTheSameTextAtTheSameTopicIsReplaced() {
        let ids = [
            bench.publish("/post/1", collapse: "é"), bench.publish("/post/1", collapse: "e\u{301}"),
            bench.publish("/post/2", collapse: "é"), bench.publish("/post/1"), bench.publish("/post/1"),
        ]
        #expect(bench.router.undecidedIDs == ids)
    }

    /// Without its window the last event would start one of its own each time.
    @Test mutating func aStreamOfReplacementsCannotDelayTheBannerForEver() {
        bench.take(.server(.ready))
        var banners: [BannerRequest] = []
        for _ in 0..<12 {
            _ = publish()
            banners += bench.wait(.milliseconds(50)).banners
        }
        #expect(banners.map(\.count) == [1])
    }

    @Test mutating func theWindowIsThatOfTheNewEvent() {
        bench.take(.server(.ready))
        _ = publish(.seconds(60))
        let second = publish(.milliseconds(10))
        #expect(bench.wait(.milliseconds(10)).banners.map(\.newest.id) == [second])
        // Another event of the window keeps it open.
        bench.publish("/post/2", window: .seconds(60))
        bench.publish("/post/2", collapse: "k", window: .seconds(60))
        bench.publish("/post/2", collapse: "k", window: .milliseconds(10))
        #expect(bench.wait(.milliseconds(10)).banners.isEmpty)
    }

    @Test mutating func theBannerWaitsForTheNewEventAndCountsOne() {
        let first = show()
        let second = publish()
        #expect(bench.wait(.milliseconds(99)).closed.isEmpty)
        let update = bench.wait(.milliseconds(1)).banners[0]
        #expect(update.replaces == BannerID(7))
        #expect(update.newest.id == second)
        #expect(update.count == 1)
        let effects = bench.take(.banner(update.call, .shown(BannerID(7))))
        #expect(effects.outcomes == [second: .shown])
        #expect(effects.resolutions[second]?.shownWith == first)
        #expect(bench.take(.claimed(second, by: Bench.peer)).closed == [BannerID(7)])
    }

    @Test(arguments: ["claim", "withdraw", "mute", "expire", "hold", "silent", "screen"])
    mutating func theBannerIsClosedWhenTheNewEventIsNotShown(_ fate: String) throws {
        let first = show()
        if fate == "screen" { bench.take(.screenOpened(try TopicPrefix("/post"), Self.unclearing, by: ":1.2")) }
        let second = bench.publish(
            "/post/1", lifetime: fate == "expire" ? .milliseconds(50) : nil, collapse: "k",
            banner: fate == "silent" ? false : nil)
        if fate == "mute" { bench.take(.quieted(try TopicPrefix("/post"), for: .seconds(60))) }
        let effects =
            switch fate {
            case "claim": bench.take(.claimed(second, by: Bench.peer))
            case "withdraw": bench.take(.withdrawn(second, by: Bench.peer))
            case "hold": bench.take(.claimedProvisionally(second, within: .seconds(1), by: Bench.peer))
            default: [] as [Effect]
            }
        let later = bench.wait(.milliseconds(100))
        #expect(bench.router.remembers(first) == false)
        #expect((effects + later).banners.isEmpty)
        guard fate != "silent", fate != "screen" else {
            // It was closed at once.
            #expect(bench.take(.bannerClosed(BannerID(7), .other)).isEmpty)
            return
        }
        #expect((effects + later).closed == [BannerID(7)])
    }

    private static let unclearing: ScreenOptions = {
        var options = ScreenOptions()
        options.clear = false
        return options
    }()

    @Test mutating func theOthersBehindTheBannerAreShownAnewWhenTheNewEventIsClaimed() {
        bench.take(.server(.ready))
        let other = bench.publish("/post/1")
        _ = publish()
        bench.take(.banner(bench.wait(.milliseconds(200)).banners[0].call, .shown(BannerID(7))))
        let second = publish()
        let update = bench.take(.claimed(second, by: Bench.peer)).banners
        #expect(update.map(\.newest.id) == [other])
        #expect(update.map(\.count) == [1])
    }

    @Test mutating func theBannerIsClosedWhenTheLastOtherBehindItIsClaimed() {
        bench.take(.server(.ready))
        let other = bench.publish("/post/1")
        _ = publish()
        bench.take(.banner(bench.wait(.milliseconds(200)).banners[0].call, .shown(BannerID(7))))
        let second = publish()
        #expect(bench.take(.claimed(other, by: Bench.peer)).closed == [BannerID(7)])
        let banner = bench.wait(.milliseconds(100)).banners
        #expect(banner.map(\.newest.id) == [second])
        #expect(banner.map(\.replaces) == [nil])
    }

    // MARK: Over a restart

    private func restoredEvent(_ id: UInt64) -> Event {
        .sample(id, collapse: "k")
    }

    /// The banner with the number 7 showed event 1, and event 2 takes its place.
    private mutating func restoreBanner() {
        var restoration = Restoration()
        restoration.lastID = EventID(100)
        restoration.remaining = 1
        restoration.banners = [
            RestoredBanner(
                BannerID(7), first: EventID(1), isSummary: false, events: [], successor: restoredEvent(2))
        ]
        #expect(bench.take(.restored(restoration)).closed.isEmpty)
        bench.take(.server(.ready))
    }

    private mutating func restoreSuccessor(left: Duration = .seconds(60)) -> [Effect] {
        var restoration = Restoration()
        restoration.remaining = 0
        let undecided: Restoration.Undecided = (restoredEvent(2), .milliseconds(100), .seconds(1))
        restoration.undecided = [Restoration.Remembered(undecided, left: left)]
        return bench.take(.restored(restoration))
    }

    @Test mutating func aRestoredBannerIsUpdatedByTheEventThatItWasKeptFor() {
        restoreBanner()
        _ = restoreSuccessor()
        let update = bench.wait(.seconds(2)).banners
        #expect(update.map(\.replaces) == [BannerID(7)])
        #expect(update.map(\.newest.id) == [EventID(2)])
    }

    @Test mutating func aRestoredBannerIsClosedWhenThatEventHasExpired() {
        restoreBanner()
        #expect(restoreSuccessor(left: .seconds(-1)).closed == [BannerID(7)])
    }

    @Test mutating func aRestoredBannerIsClosedWhenThatEventIsClaimedAsItComes() throws {
        restoreBanner()
        bench.take(.screenOpened(.all, ScreenOptions(), by: ":1.2"))
        #expect(restoreSuccessor().closed == [BannerID(7)])
    }

    @Test mutating func aRestoredBannerIsClosedWhenThatEventDoesNotCome() {
        restoreBanner()
        var restoration = Restoration()
        restoration.remaining = 0
        #expect(bench.take(.restored(restoration)).closed == [BannerID(7)])
    }

    // MARK: Within a run

    @Test mutating func whatReplacesTheSuccessorTakesItsPlace() {
        _ = show()
        _ = publish()
        bench.pass(.milliseconds(50))
        let third = publish()
        let update = bench.wait(.milliseconds(100)).banners[0]
        #expect(update.newest.id == third)
        #expect(update.replaces == BannerID(7))
    }

    @Test mutating func aBannerWhoseCallFailedIsKeptForNobody() throws {
        bench.take(.server(.ready))
        _ = publish()
        var call = bench.wait(.milliseconds(100)).banners[0].call
        let others = [bench.publish("/post/1"), bench.publish("/post/1")]
        bench.wait(.milliseconds(100))
        // After three failures the server has a rest.
        for _ in 0..<2 {
            call = try #require((bench.take(.banner(call, .failed(.noAnswer))) + bench.wait(.seconds(1))).banners.first)
                .call
        }
        _ = publish()
        #expect(bench.take(.banner(call, .failed(.noAnswer))).banners.isEmpty)
        let last = publish()
        bench.take(.claimed(last, by: Bench.peer))
        let requests = bench.wait(.seconds(60)).banners
        #expect(requests.map(\.newest.id) == [others[1]])
        for request in requests { bench.take(.banner(request.call, .shown(BannerID(7)))) }
        // Nothing holds back the update of what is up.
        #expect(bench.take(.withdrawn(others[1], by: Bench.peer)).banners.map(\.newest.id) == [others[0]])
    }

    @Test mutating func anEventInFlightGivesItsBannerToTheNewOne() {
        bench.take(.server(.ready))
        _ = publish()
        let request = bench.wait(.milliseconds(100)).banners[0]
        let second = publish()
        #expect(!bench.router.isCurrent(request))
        #expect(bench.take(.banner(request.call, .shown(BannerID(7)))).closed.isEmpty)
        let update = bench.wait(.milliseconds(100)).banners[0]
        #expect(update.newest.id == second)
        #expect(update.replaces == BannerID(7))
    }

    @Test mutating func aBannerOfAnotherKeyIsClosed() throws {
        _ = show()
        var table = RouteTable(fallback: Route(pattern: nil, window: .milliseconds(100)))
        table.add(Route(pattern: try TopicPattern("/post/{id}"), window: .milliseconds(100), coalescing: .none))
        bench.take(.reconfigured(table, BannerSettings(), ScreenSettings()))
        let effects = bench.push("/post/1", Self.options)
        #expect(effects.closed == [BannerID(7)])
        #expect(bench.wait(.milliseconds(100)).banners.map(\.replaces) == [nil])
    }

    @Test func eventsWithBannersOfTheirOwnShareOneWithTheSameCollapse() throws {
        var bench = Bench([
            Route(pattern: try TopicPattern("/each/{id}"), window: .milliseconds(100), coalescing: .none)
        ])
        bench.take(.server(.ready))
        bench.publish("/each/1", collapse: "k")
        bench.publish("/each/1")
        for (number, request) in bench.wait(.milliseconds(100)).banners.enumerated() {
            bench.take(.banner(request.call, .shown(BannerID(UInt32(number + 7)))))
        }
        bench.publish("/each/1", collapse: "k")
        #expect(bench.wait(.milliseconds(100)).banners.map(\.replaces) == [BannerID(7)])
    }

    @Test mutating func aRepeatReplacesNothing() {
        var options = Self.options
        options.origin = Origin(source: "test", eventID: "1")
        _ = bench.push("/post/1", options)
        #expect(bench.push("/post/1", options).outcomes.isEmpty)
        #expect(bench.router.undecidedCount == 1)
    }

    // MARK: Events that could not be stored

    @Test mutating func inItsWindowTheEarlierEventIsThereAgain() {
        bench.take(.server(.ready))
        let first = publish()
        bench.take(.stored(except: []))
        bench.pass(.milliseconds(40))
        let second = publish()
        bench.take(.stored(except: [second]))
        #expect(bench.router.undecidedIDs == [first])
        #expect(bench.router.statistics[.replaced] == 0)
        let banners = bench.wait(.milliseconds(100)).banners
        #expect(banners.map(\.newest.id) == [first])
        #expect(banners.map(\.count) == [1])
    }

    /// The only event of its window was replaced by one without a banner.
    @Test mutating func itsWindowIsOpenedAgainForTheRestOfItsTime() {
        bench.take(.server(.ready))
        let first = publish()
        bench.take(.stored(except: []))
        bench.pass(.milliseconds(40))
        let second = publish(banner: false)
        #expect(bench.router.openWindows == 0)
        bench.take(.stored(except: [second]))
        #expect(bench.wait(.milliseconds(59)).banners.isEmpty)
        #expect(bench.wait(.milliseconds(1)).banners.map(\.newest.id) == [first])
    }

    @Test mutating func onTheScreenItStaysAsItWas() {
        let first = show()
        let second = publish()
        let effects = bench.take(.stored(except: [second]))
        #expect(effects.banners.isEmpty)
        #expect(effects.closed.isEmpty)
        #expect(bench.wait(.seconds(1)).banners.isEmpty)
        #expect(bench.take(.claimed(first, by: Bench.peer)).closed == [BannerID(7)])
    }

    @Test mutating func inFlightItIsShown() {
        bench.take(.server(.ready))
        let first = publish()
        let request = bench.wait(.milliseconds(100)).banners[0]
        bench.take(.stored(except: []))
        let second = publish()
        bench.take(.stored(except: [second]))
        #expect(bench.router.isCurrent(request))
        let effects = bench.take(.banner(request.call, .shown(BannerID(7))))
        #expect(effects.outcomes == [first: .shown])
        #expect(effects.banners.isEmpty)
    }

    @Test mutating func whatTwoOfOneTurnHaveReplacedIsThereAgain() {
        let first = show()
        let second = publish()
        let third = publish()
        bench.take(.stored(except: [second, third]))
        #expect(bench.router.undecidedCount == 0)
        #expect(bench.take(.claimed(first, by: Bench.peer)).closed == [BannerID(7)])
    }

    @Test mutating func aHeldEventIsShownAtOnce() {
        bench.take(.server(.ready))
        let first = publish()
        bench.take(.claimedProvisionally(first, within: .seconds(10), by: Bench.peer))
        bench.wait(.milliseconds(100))
        bench.take(.stored(except: []))
        let second = publish()
        #expect(bench.take(.stored(except: [second])).banners.map(\.newest.id) == [first])
    }
}
