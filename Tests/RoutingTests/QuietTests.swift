import Testing

@testable import Routing

/// Pauses and mutes: each ends by itself, and by its own word.
struct QuietTests {
    private let post = try! TopicPrefix("/post")
    private let one = try! TopicPrefix("/post/1")

    @Test func aMuteIsTakenBackByItsOwnTopicAlone() {
        var bench = Bench()
        bench.take(.quieted(post, for: .seconds(60)))
        bench.take(.quieted(.all, for: .seconds(60)))
        #expect(bench.take(.quieted(.all, for: .zero)).quietChanges == 1)
        #expect(bench.router.quiet.map(\.topic) == [post])
        #expect(bench.take(.quieted(one, for: .zero)).quietChanges == 0)
        let id = bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).resolutions[id]?.quiet?.topic == post)
    }

    @Test func anOutcomeNamesTheNearestMuteAndThePauseBeforeAll() {
        var bench = Bench()
        bench.take(.quieted(.all, for: .seconds(60)))
        bench.take(.quieted(post, for: .seconds(60)))
        bench.take(.quieted(try! TopicPrefix("/pos"), for: .seconds(60)))
        func cause(_ topic: String) -> Quiet? {
            let id = bench.publish(topic)
            return bench.wait(.milliseconds(100)).resolutions[id]?.quiet
        }
        #expect(cause("/post/1")?.topic == post)
        #expect(cause("/post")?.topic == post)
        #expect(cause("/chat")?.topic == .all)
        bench.take(.quieted(nil, for: .seconds(60)))
        #expect(cause("/post/1")?.cause == .paused)
    }

    @Test func aPauseEndsByItselfAndAMuteOfEverythingStays() {
        var bench = Bench()
        #expect(bench.take(.quieted(nil, for: .seconds(5))).quietChanges == 1)
        bench.take(.quieted(.all, for: .seconds(60)))
        #expect(bench.router.pausesBanners)
        #expect(bench.wait(.seconds(5)).quietChanges == 1)
        #expect(!bench.router.pausesBanners)
        #expect(bench.router.quiet.map(\.cause) == [.muted])
        #expect(bench.wait(.seconds(55)).quietChanges == 1)
        #expect(bench.router.quiet.isEmpty)
    }

    @Test func aPauseOfNoLengthLastsUntilItIsTakenBack() {
        var bench = Bench()
        bench.take(.quieted(nil, for: .seconds(5)))
        bench.take(.quieted(nil, for: .zero))
        bench.wait(.seconds(3600))
        #expect(bench.router.quiet == [Quiet(.all, .paused, ends: nil)])
        #expect(bench.take(.quieted(nil, for: .zero)).quietChanges == 0)
        #expect(bench.take(.quieted(nil, for: nil)).quietChanges == 1)
        #expect(bench.take(.quieted(nil, for: nil)).quietChanges == 0)
    }

    // MARK: The desktop

    @Test func theDesktopHoldsBackWhatIsNotCriticalAndDoesNotBreakThrough() throws {
        var bench = Bench([
            Route(pattern: try TopicPattern("/alarm/{id}"), window: .milliseconds(100), breaksThrough: true)
        ])
        bench.take(.server(.ready))
        #expect(bench.take(.desktopQuiet(true)).quietChanges == 1)
        #expect(bench.take(.desktopQuiet(true)).quietChanges == 0)
        #expect(bench.router.quiet == [Quiet(.all, .desktop, ends: nil)])
        #expect(!bench.router.pausesBanners)
        var critical = PublishOptions()
        critical.urgency = .critical
        let muted = bench.publish("/post/1")
        let shown = [bench.publish("/post/2", options: critical), bench.publish("/alarm/1")]
        let effects = bench.wait(.milliseconds(100))
        #expect(effects.outcomes == [muted: .muted])
        #expect(effects.resolutions[muted]?.quiet == Quiet(.all, .desktop, ends: nil))
        var requests = effects.banners
        var resolutions: [EventID: Resolution] = [:]
        while let request = requests.popLast() {
            let answered = bench.take(
                .banner(request.call, .shown(BannerID(UInt32(requests.count + resolutions.count + 1)))))
            resolutions.merge(answered.resolutions) { $1 }
            requests += answered.banners
        }
        #expect(resolutions.mapValues(\.outcome) == [shown[0]: .shown, shown[1]: .shown])
        #expect(resolutions.values.allSatisfy { $0.quiet?.cause == .desktop })
        #expect(bench.take(.desktopQuiet(false)).quietChanges == 1)
        #expect(bench.router.quiet.isEmpty)
    }

    @Test func aPauseComesBeforeTheDesktopAndHoldsBackWhatIsCriticalToo() {
        var bench = Bench()
        bench.take(.desktopQuiet(true))
        bench.take(.quieted(nil, for: .zero))
        bench.take(.quieted(post, for: .seconds(60)))
        #expect(bench.router.quiet.map(\.cause) == [.paused, .desktop, .muted])
        var critical = PublishOptions()
        critical.urgency = .critical
        let id = bench.publish("/chat", options: critical)
        #expect(bench.wait(.milliseconds(100)).resolutions[id]?.quiet?.cause == .paused)
        bench.take(.quieted(nil, for: nil))
        let muted = bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).resolutions[muted]?.quiet?.cause == .muted)
        // Nobody but the desktop ends it.
        bench.take(.quieted(.all, for: .zero))
        #expect(bench.router.quiet.map(\.cause) == [.desktop, .muted])
    }

    @Test func theDesktopIsFollowedAsTheConfigurationSays() {
        var bench = Bench(banners: BannerSettings(followsDesktop: false))
        bench.take(.server(.ready))
        #expect(bench.take(.desktopQuiet(true)).quietChanges == 0)
        bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).banners.count == 1)
        let table = RouteTable(fallback: Route(pattern: nil, window: .milliseconds(100)))
        #expect(bench.take(.reconfigured(table, BannerSettings(), ScreenSettings())).quietChanges == 1)
        #expect(bench.router.quiet.map(\.cause) == [.desktop])
    }

    /// An old server is asked when the banner is due.
    @Test func aBannerThatHasNotLeftIsTakenBackWhenTheDesktopBecomesQuiet() throws {
        var bench = Bench()
        bench.callsLeave = false
        bench.take(.server(.ready))
        let id = bench.publish("/post/1")
        let request = try #require(bench.wait(.milliseconds(100)).banners.first)
        #expect(bench.router.isCurrent(request))
        bench.take(.desktopQuiet(true))
        #expect(!bench.router.isCurrent(request))
        let effects = bench.take(.banner(request.call, .failed(.notAsked)))
        #expect(effects.outcomes == [id: .muted])
        #expect(effects.banners.isEmpty)
    }

    @Test func aDigestTellsOfWhatTheDesktopHeldBackOnceItIsOver() {
        var bench = Bench(banners: BannerSettings(digestsPauses: true))
        bench.take(.desktopQuiet(true))
        let id = bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).resolutions[id]?.digest == id)
        #expect(bench.router.dueDigests.isEmpty)
        #expect(bench.take(.desktopQuiet(false)).contains { if case .countDigests = $0 { true } else { false } })
    }

    // MARK: Schedules

    private func schedule(_ topic: TopicPrefix, _ began: Int64 = 1, ends: Int64 = 100) -> ActiveSchedule {
        ActiveSchedule(ActiveSchedule.Period(topic, began: began), ends: Uptime(microseconds: ends))
    }

    @Test func aScheduleHoldsBackBannersUntilItIsOver() {
        var bench = Bench()
        #expect(bench.take(.scheduled([schedule(post)])).quietChanges == 1)
        #expect(bench.take(.scheduled([schedule(post)])).quietChanges == 0)
        #expect(bench.router.quiet == [Quiet(post, .schedule, ends: Uptime(microseconds: 100))])
        let id = bench.publish("/post/1")
        let other = bench.publish("/chat")
        let resolutions = bench.wait(.milliseconds(100)).resolutions
        #expect(resolutions[id]?.outcome == .muted)
        #expect(resolutions[id]?.quiet?.cause == .schedule)
        #expect(resolutions[other] == nil)
        #expect(bench.take(.scheduled([])).quietChanges == 1)
        #expect(bench.router.quiet.isEmpty)
    }

    @Test func aTopicHasTheLatestEndOfItsSchedulesAndItsMuteBesides() {
        var bench = Bench()
        bench.take(
            .scheduled([schedule(post, 1, ends: 100), schedule(post, 2, ends: 50), schedule(.all, 1, ends: 70)]))
        bench.take(.quieted(post, for: .seconds(60)))
        #expect(bench.router.quiet.map(\.topic) == [.all, post, post])
        #expect(bench.router.quiet.map(\.cause) == [.schedule, .muted, .schedule])
        #expect(bench.router.quiet.last?.ends == Uptime(microseconds: 100))
    }

    @Test func aLiftedScheduleStaysSoUntilItBeginsAgain() {
        var bench = Bench()
        bench.take(.scheduled([schedule(.all), schedule(post)]))
        bench.take(.quieted(post, for: .seconds(60)))
        #expect(bench.take(.quieted(one, for: .zero)).quietChanges == 0)
        #expect(bench.take(.quieted(post, for: .zero)).quietChanges == 1)
        #expect(bench.router.quiet.map(\.topic) == [.all])
        #expect(bench.router.liftedSchedules == [schedule(post).period])
        // It ends at another time, because the clock was set.
        bench.take(.scheduled([schedule(.all), schedule(post, ends: 90)]))
        #expect(bench.router.quiet.map(\.topic) == [.all])
        // The pause has its own end.
        bench.take(.quieted(nil, for: .zero))
        bench.take(.quieted(nil, for: nil))
        #expect(bench.router.quiet.map(\.topic) == [.all])
        bench.take(.scheduled([]))
        #expect(bench.router.liftedSchedules.isEmpty)
        bench.take(.scheduled([schedule(post, 2)]))
        #expect(bench.router.quiet.map(\.topic) == [post])
    }

    @Test func anEarlierRunLiftedThePeriodAndNoOther() {
        var bench = Bench()
        bench.take(.scheduled([schedule(.all, 5), schedule(post, 6)]))
        var restoration = Restoration()
        restoration.liftedSchedules = [schedule(.all, 5).period, schedule(post, 5).period]
        #expect(bench.take(.restored(restoration)).quietChanges == 1)
        #expect(bench.router.quiet.map(\.topic) == [post])
        #expect(bench.router.liftedSchedules == [schedule(.all, 5).period])
    }

    @Test func whatAnEarlierRunWasToldGoesOnUnlessSomethingNewerWasSaid() {
        var bench = Bench()
        bench.take(.quieted(one, for: .seconds(3600)))
        var restoration = Restoration()
        restoration.quiet = [
            (topic: .all, cause: .paused, left: nil), (topic: post, cause: .muted, left: .seconds(10)),
            (topic: one, cause: .muted, left: .seconds(10)), (topic: .all, cause: .muted, left: .seconds(-1)),
        ]
        #expect(bench.take(.restored(restoration)).quietChanges == 1)
        #expect(bench.router.quiet.map(\.topic) == [.all, post, one])
        #expect(bench.router.pausesBanners)
        bench.wait(.seconds(10))
        #expect(bench.router.quiet.map(\.topic) == [.all, one])
    }
}

extension [Effect] {
    fileprivate var quietChanges: Int {
        count { if case .changed(let tables) = $0 { tables.contains(.quiet) } else { false } }
    }
}
