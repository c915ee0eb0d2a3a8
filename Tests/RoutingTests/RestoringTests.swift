import Testing

@testable import Routing

/// Going on after an earlier run, whatever the clock says.
struct RestoringTests {
    @Test func idsGrowThoughTheClockWasSetBack() throws {
        let routes = RouteTable(fallback: Route(pattern: nil, window: .zero))
        var router = Router(routes: routes, firstID: EventID(1_000))
        let now = Now(instant: Instant(microseconds: 0), uptime: Uptime(microseconds: 0))
        var restoration = Restoration()
        restoration.lastID = EventID(5_000)
        _ = router.handle(.restored(restoration), at: now)
        let push = Publication(topic: try Topic("/post/27"), title: "", body: "", sender: ":1.1")
        _ = router.handle(.published(push), at: now)
        #expect(router.lastID == EventID(5_001))
    }

    /// A router to which an event of an earlier run was given back.
    private static func restored(age: Duration?, screen: Bool = false) throws -> (bench: Bench, effects: [Effect]) {
        var bench = Bench()
        if screen { bench.take(.screenOpened(try TopicPrefix("/post/1"), ScreenOptions(), by: ":1.9")) }
        var restoration = Restoration()
        restoration.lastID = EventID(1)
        restoration.undecided = [.init((event: .sample(1), window: .milliseconds(100), age: age), left: .seconds(60))]
        let effects = bench.take(.restored(restoration))
        return (bench, effects)
    }

    /// They come back some time after the daemon.
    @Test func whatWaitsForScreensHasAWindowUntilTheyAreBack() throws {
        var bench = Bench()
        var restoration = Restoration()
        restoration.minimumWindow = .seconds(2)
        restoration.undecided = [
            .init(
                (
                    event: .sample(1, route: Route(pattern: nil, window: .milliseconds(100), wait: .screens)),
                    window: .milliseconds(100), age: .zero
                ), left: .seconds(60))
        ]
        let effects = bench.take(.restored(restoration))
        #expect(effects.banners.isEmpty && effects.resolutions.isEmpty)
        bench.pass(.milliseconds(1900))
        let opened = bench.take(.screenOpened(try TopicPrefix("/post/1"), ScreenOptions(), by: ":1.9"))
        #expect(opened.resolutions[EventID(1)]?.outcome == .claimed)
    }

    @Test func latenciesCountFromPublishing() throws {
        var (bench, _) = try Self.restored(age: .seconds(30))
        bench.pass(.seconds(1))
        let resolution = bench.take(.claimed(EventID(1), by: ":1.9")).resolutions[EventID(1)]
        #expect(resolution?.latency == .seconds(31))
        #expect(resolution?.isReplayed == true)
        #expect(resolution?.isOfEarlierBoot == false)
    }

    @Test func holdsCountFromPublishing() throws {
        var (bench, _) = try Self.restored(age: .seconds(30))
        let effects = bench.take(.claimedProvisionally(EventID(1), within: .seconds(1), by: ":1.9"))
        let steps = effects.compactMap { if case .noteClaim(_, let record) = $0 { record.latency } else { nil } }
        #expect(steps == [.seconds(30)])
    }

    @Test func aScreenThatIsThereClaimsWithTheAgeOfTheEvent() throws {
        let (_, effects) = try Self.restored(age: .seconds(30), screen: true)
        #expect(effects.resolutions[EventID(1)]?.latency == .seconds(30))
    }

    /// No clock goes on from one boot to the next.
    @Test(arguments: [false, true])
    func nothingIsSaidOfTimesSinceAnotherBoot(_ hasScreen: Bool) throws {
        var (bench, effects) = try Self.restored(age: nil, screen: hasScreen)
        if !hasScreen { effects = bench.take(.claimed(EventID(1), by: ":1.9")) }
        let resolution = try #require(effects.resolutions[EventID(1)])
        #expect(resolution.outcome == .claimed)
        #expect(resolution.latency == nil)
        #expect(resolution.isOfEarlierBoot)
    }

    /// What could not be kept has never been: taking back one event decides about none of the others.
    @Test func eventsThatAreTakenBackTogetherGetNoOutcome() throws {
        let route = Route(pattern: try TopicPattern("/post/{id}"), window: .seconds(1), wait: .screens)
        var bench = Bench([route])
        var options = ScreenOptions()
        options.mode = .ask
        bench.take(.screenOpened(try TopicPrefix("/post"), options, by: ":1.9"))
        bench.take(.quieted(nil, for: .zero))
        let ids = (0..<2).map { _ in bench.publish("/post/1") }
        bench.take(.answered(ids[1], .passed, by: ":1.9"))
        #expect(bench.take(.stored(except: ids)).outcomes.isEmpty)
        #expect(bench.router.undecidedCount == 0)
    }
}
