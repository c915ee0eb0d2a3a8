import Testing

@testable import Routing

/// `own-banner`: the publisher shows the banner, and the router only decides.
struct OwnBannerTests {
    private var bench = Bench()
    private let all = TopicPrefix.all

    init() {
        bench.take(.server(.ready))
    }

    private static func options(_ origin: Origin = Origin(), actions: [String] = []) -> PublishOptions {
        var entries = [Field(name: "own-banner", value: .boolean(true))]
        if !actions.isEmpty {
            entries.append(Field(name: "actions", value: .array(of: "s", actions.map { .string($0) })))
        }
        var options = try! PublishOptions(entries)
        options.origin = origin
        return options
    }

    private mutating func publish(
        _ topic: String = "/post/1", collapse: String? = nil, options: PublishOptions = options()
    ) -> EventID {
        bench.publish(topic, collapse: collapse, options: options)
    }

    /// An event that its publisher shows.
    private mutating func shown(
        _ topic: String = "/post/1", collapse: String? = nil, options: PublishOptions = options()
    ) -> EventID {
        let id = publish(topic, collapse: collapse, options: options)
        #expect(bench.wait(.milliseconds(100)).outcomes == [id: .shown])
        return id
    }

    // MARK: Shown

    @Test mutating func itIsShownAtTheEndOfItsWindowWithoutACallToTheServer() throws {
        let id = publish()
        #expect(bench.wait(.milliseconds(99)).outcomes.isEmpty)
        let effects = bench.wait(.milliseconds(2))
        let resolution = try #require(effects.resolutions[id])
        #expect(resolution.outcome == .shown)
        #expect(resolution.banner == nil)
        #expect(resolution.count == 1)
        #expect(resolution.lateness == .milliseconds(1))
        #expect(effects.banners.isEmpty)
        #expect(bench.router.statistics[.bannerCalls] == 0)
        #expect(bench.router.waitingBanners == 0)
    }

    @Test mutating func noServerIsNeeded() {
        bench.take(.server(.gone))
        let id = shown()
        #expect(bench.take(.server(.ready)).banners.isEmpty)
        bench.take(.server(.gone))
        #expect(bench.take(.claimed(id, by: ":1.2")).outcomes == [id: .retracted])
    }

    @Test mutating func aClaimInItsWindowIsInTime() {
        let id = publish()
        #expect(bench.take(.claimed(id, by: ":1.2")).outcomes == [id: .claimed])
        #expect(bench.wait(.seconds(1)).outcomes.isEmpty)
    }

    @Test mutating func aHoldThatComesToNothingHasItShown() {
        let id = publish()
        bench.take(.claimedProvisionally(id, within: .seconds(1), by: ":1.2"))
        #expect(bench.wait(.milliseconds(200)).outcomes.isEmpty)
        #expect(bench.take(.answered(id, .released, by: ":1.2")).outcomes == [id: .shown])
    }

    @Test mutating func itSharesNoWindowAndNoBanner() throws {
        let own = publish()
        bench.pass(.milliseconds(50))
        let drawn = bench.publish("/post/1")
        let second = publish()
        #expect(bench.wait(.milliseconds(50)).outcomes == [own: .shown])
        let effects = bench.wait(.milliseconds(50))
        #expect(effects.resolutions[second]?.count == 1)
        let request = try #require(effects.banners.first)
        #expect(request.newest.id == drawn)
        #expect(request.count == 1)
        #expect(bench.take(.banner(request.call, .shown(BannerID(7)))).resolutions[drawn]?.count == 1)
        // The next one of the topic is not told to the banner that is up.
        #expect(bench.take(.claimed(publish(), by: ":1.2")).banners.isEmpty)
    }

    @Test mutating func itIsNotLimitedAndTakesNoRoomFromOthers() {
        bench = Bench(banners: BannerSettings(maximumPerSecond: 1))
        bench.take(.server(.ready))
        let own = (1...5).map { publish("/post/\($0)") }
        let drawn = bench.publish("/post/6")
        let effects = bench.wait(.milliseconds(100))
        #expect(effects.outcomes == Dictionary(uniqueKeysWithValues: own.map { ($0, .shown) }))
        #expect(effects.banners.map(\.newest.id) == [drawn])
        #expect(bench.router.statistics[.bannersFolded] == 0)
    }

    // MARK: Quiet

    @Test mutating func whatHoldsBannersBackMutesItAndADigestTellsOfIt() {
        bench = Bench(banners: BannerSettings(digestsPauses: true))
        bench.take(.quieted(nil, for: .zero))
        let id = publish()
        let resolution = bench.wait(.milliseconds(100)).resolutions[id]
        #expect(resolution?.outcome == .muted)
        #expect(resolution?.quiet?.cause == .paused)
        #expect(resolution?.digest == id)
        #expect(bench.router.owedDigests.map(\.first) == [id])
    }

    /// The desktop keeps it in its own list, and does not show it.
    @Test mutating func theDesktopIsLeftToDoWithItWhatItDoes() {
        bench.take(.desktopQuiet(true))
        let id = publish()
        let resolution = bench.wait(.milliseconds(100)).resolutions[id]
        #expect(resolution?.outcome == .shown)
        #expect(resolution?.quiet == nil)
    }

    @Test mutating func aRouteThatBreaksThroughHasItShown() {
        bench = Bench([
            try! Route(pattern: TopicPattern("/alarm/{id}"), window: .milliseconds(100), breaksThrough: true)
        ])
        bench.take(.quieted(nil, for: .zero))
        let id = publish("/alarm/1")
        let resolution = bench.wait(.milliseconds(100)).resolutions[id]
        #expect(resolution?.outcome == .shown)
        #expect(resolution?.quiet?.cause == .paused)
    }

    // MARK: The end

    @Test mutating func aLateClaimIsAnsweredAndAnnouncedAsRetracted() {
        let id = shown()
        let effects = bench.take(.claimed(id, by: ":1.2"))
        #expect(bench.reply == .success(.verdict(.retracted)))
        #expect(effects.outcomes == [id: .retracted])
        #expect(effects.closed.isEmpty)
        #expect(!bench.router.remembers(id))
    }

    @Test(arguments: ["topic", "read", "screen"])
    mutating func whoeverHasSeenItTakesItDown(_ cause: String) {
        let id = shown()
        let effects =
            switch cause {
            case "topic": bench.take(.topicClaimed(all, .grace(.zero), by: ":1.2"))
            case "read": bench.take(.topicClaimed(all, .read(upTo: EventID(0)), by: ":1.2"))
            default: bench.take(.screenOpened(all, ScreenOptions(), by: ":1.2"))
            }
        #expect(effects.outcomes == [id: .retracted])
    }

    @Test(arguments: [
        (NamedClaim.Kind.claimed, Outcome.retracted), (.dismissed, .dismissed), (.withdrawn, .withdrawn),
        (.read, .retracted),
    ])
    mutating func theNameOfAShownEventEndsIt(_ kind: NamedClaim.Kind, _ outcome: Outcome) {
        let origin = Origin(source: "desktop", eventID: "1")
        let id = shown(options: Self.options(origin))
        let claim = NamedClaim(name: .origin(origin), origin: origin, kind: kind, claimant: ":1.2")
        let effects = bench.take(.claimedNamed(claim, event: id))
        #expect(effects.outcomes == [id: outcome])
        #expect(bench.reply == .success(.verdict(.retracted)))
    }

    @Test mutating func aPressedButtonStandsInTheOutcome() {
        let id = shown(options: Self.options(actions: ["open", "Open"]))
        let resolution = bench.take(.claimed(id, by: ":1.2", pressing: "open")).resolutions[id]
        #expect(resolution?.outcome == .retracted)
        #expect(resolution?.action == "open")
        #expect(resolution?.claimant == ":1.2")
    }

    @Test mutating func itsPublisherTakesItBack() {
        let id = shown()
        #expect(bench.take(.withdrawn(id, by: Bench.peer)).outcomes == [id: .withdrawn])
    }

    @Test mutating func aLaterEventTakesItsPlaceInTheWindowAndOnTheScreen() {
        let first = publish(collapse: "c")
        bench.pass(.milliseconds(50))
        let second = publish(collapse: "c")
        #expect(bench.wait(.milliseconds(100)).outcomes == [second: .shown])
        #expect(!bench.router.remembers(first))
        let effects = bench.push("/post/1", collapsing("c"))
        #expect(effects.outcomes == [second: .replaced])
    }

    private func collapsing(_ text: String) -> PublishOptions {
        var options = Self.options()
        options.collapse = text
        return options
    }

    @Test mutating func aStreamOfReplacementsDoesNotStarveIt() {
        var shown = 0
        for _ in 0..<30 {
            _ = publish(collapse: "progress")
            shown += bench.wait(.milliseconds(50)).outcomes.values.count { $0 == .shown }
        }
        #expect(shown >= 2)
    }

    @Test(arguments: [Route.Coalescing.topic, .none])
    mutating func itTakesThePlaceOfABannerThatIsUp(_ coalescing: Route.Coalescing) throws {
        bench = Bench([
            Route(pattern: try TopicPattern("/post/{id}"), window: .milliseconds(100), coalescing: coalescing)
        ])
        bench.take(.server(.ready))
        let drawn = bench.publish("/post/1", collapse: "c")
        bench.show(7)
        let replacing = bench.push("/post/1", collapsing("c"))
        let ending = bench.wait(.milliseconds(100))
        #expect(replacing.outcomes == [drawn: .replaced])
        #expect(ending.outcomes.values.map(\.self) == [.shown])
        #expect(replacing.closed + ending.closed == [BannerID(7)])
        #expect(ending.banners.isEmpty)
    }

    @Test mutating func aBannerOfTheRouterTakesItsPlace() throws {
        let own = shown(collapse: "c")
        let drawn = bench.publish("/post/1", collapse: "c")
        #expect(!bench.router.remembers(own))
        #expect(bench.wait(.milliseconds(100)).banners.map(\.newest.id) == [drawn])
    }

    // MARK: Snooze

    @Test mutating func aSnoozedOneIsMutedAndShownAgain() {
        let id = shown()
        #expect(bench.snooze(id, .seconds(60)).outcomes == [id: .muted])
        #expect(bench.snooze(id, .seconds(90)).outcomes.isEmpty)
        #expect(bench.wait(.seconds(89)).outcomes.isEmpty)
        #expect(bench.wait(.seconds(1)).outcomes == [id: .shown])
        #expect(bench.router.snoozed.isEmpty)
        #expect(bench.take(.claimed(id, by: ":1.2")).outcomes == [id: .retracted])
    }

    // MARK: Restarts and the disk

    @Test mutating func afterARestartItIsShownByItsPublisherAsBefore() throws {
        let event = Self.event(5)
        bench = Bench(firstID: EventID(10))
        bench.take(.server(.ready))
        var restoration = Restoration()
        restoration.undecided = [
            .init((event: event, window: .milliseconds(100), age: .seconds(1)), left: .seconds(60))
        ]
        bench.take(.restored(restoration))
        let effects = bench.wait(.seconds(2))
        #expect(effects.outcomes == [event.id: .shown])
        #expect(effects.banners.isEmpty)
    }

    @Test mutating func oneThatIsNotInMemoryAnyMoreIsFoundByAClaim() {
        var limits = Limits()
        limits.retractableEvents = 1
        bench = Bench(limits: limits)
        let id = shown()
        _ = shown("/post/2")
        #expect(!bench.router.remembers(id))
        let cold = ColdEvent(Self.event(id.rawValue), age: .seconds(1), .shown(nil, isShared: false))
        let effects = bench.take(.claimed(id, by: ":1.2"), reading: Stored(events: [cold]))
        #expect(effects.outcomes == [id: .retracted])
        #expect(bench.reply == .success(.verdict(.retracted)))
    }

    private static func event(_ id: UInt64) -> Event {
        .sample(id, appearance: options().appearance)
    }

    @Test mutating func oneThatIsShownAtOnceAndNotStoredIsForgotten() throws {
        bench = Bench([try Route(pattern: TopicPattern("/post/{id}"), window: .milliseconds(100), wait: .screens)])
        let id = publish()
        #expect(bench.router.remembers(id))
        bench.take(.stored(except: [id]))
        #expect(!bench.router.remembers(id))
    }
}
