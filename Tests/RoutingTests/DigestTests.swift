import Testing

@testable import Routing

/// The digest of a schedule: when it is due, and what it counts.
struct DigestTests {
    private static let post = try! TopicPrefix("/post")
    private static let night = ActiveSchedule.Period(.all, began: 1)
    private static let work = ActiveSchedule.Period(post, began: 2)

    private static func on(_ period: ActiveSchedule.Period, hasDigest: Bool = true) -> ActiveSchedule {
        ActiveSchedule(period, ends: Uptime(microseconds: 9), hasDigest: hasDigest)
    }

    /// A bench on which a schedule has held back a banner.
    private func bench(_ period: ActiveSchedule.Period = night) -> (bench: Bench, id: EventID) {
        var bench = Bench()
        bench.take(.server(.ready))
        bench.take(.scheduled([Self.on(period)]))
        let id = bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        return (bench, id)
    }

    private func publication() -> Publication {
        var tally = DigestTally()
        tally.add(.sample(1))
        return tally.publication(received: 0)
    }

    @Test func theOutcomeNamesThePeriodThatCountsIt() {
        var bench = Bench()
        bench.take(.scheduled([Self.on(Self.night)]))
        let first = bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).resolutions[first]?.digest == first)
        #expect(bench.router.owedDigests == [OwedDigest(Self.night, name: first, first: first)])
        #expect(bench.router.dueDigests.isEmpty)
    }

    @Test func anEventWithALowerIDThatIsMutedLaterCountsToo() {
        var bench = Bench()
        bench.take(.scheduled([Self.on(Self.night)]))
        let first = bench.publish("/post/1", window: .seconds(1))
        let second = bench.publish("/post/2")
        #expect(bench.wait(.milliseconds(100)).digestChanges == 1)
        let effects = bench.wait(.seconds(1))
        #expect(effects.digestChanges == 1 && effects.resolutions[first]?.digest == second)
        #expect(bench.router.owedDigests == [OwedDigest(Self.night, name: second, first: first)])
        bench.publish("/post/3")
        #expect(bench.wait(.milliseconds(100)).digestChanges == 0)
    }

    @Test func aScheduleWithoutADigestOwesNone() {
        var bench = Bench()
        bench.take(.scheduled([Self.on(Self.night, hasDigest: false)]))
        let id = bench.publish("/post/1")
        let resolution = bench.wait(.milliseconds(100)).resolutions[id]
        #expect(resolution?.outcome == .muted && resolution?.digest == nil)
        #expect(bench.take(.scheduled([])).counts == 0)
    }

    @Test func thePauseAndANearerMuteOweNone() {
        var bench = Bench()
        bench.take(.scheduled([Self.on(Self.night)]))
        bench.take(.quieted(Self.post, for: .seconds(60)))
        bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        bench.take(.quieted(nil, for: .zero))
        bench.publish("/chat")
        bench.wait(.milliseconds(100))
        #expect(bench.router.owedDigests.isEmpty)
    }

    @Test(arguments: [true, false])
    func aPauseAndAMuteHaveOneWhereTheConfigurationWantsIt(_ isPause: Bool) {
        var bench = Bench(banners: BannerSettings(digestsPauses: true))
        bench.take(.server(.ready))
        if isPause { bench.take(.quieted(nil, for: .zero)) } else { bench.take(.quieted(Self.post, for: .seconds(60))) }
        let id = bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).resolutions[id]?.digest == id)
        #expect(bench.router.owedDigests.map(\.period.topic) == [isPause ? .all : Self.post])
        #expect(bench.router.dueDigests.isEmpty)
        let end = isPause ? bench.take(.quieted(nil, for: nil)) : bench.wait(.seconds(60))
        #expect(end.counts == 1)
        let effects = bench.take(.digestsCounted(DigestCount(bench.router.dueDigests, .found(publication()))))
        #expect(effects.announced.map(\.topic) == [DigestTally.topic])
        #expect(bench.router.owedDigests.isEmpty)
    }

    @Test func whatAPauseOwesIsDroppedWithTheSetting() throws {
        var bench = Bench(banners: BannerSettings(digestsPauses: true))
        bench.take(.quieted(nil, for: .zero))
        bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        let table = RouteTable(fallback: Route(pattern: nil, window: .milliseconds(100)))
        bench.take(.reconfigured(table, BannerSettings(), ScreenSettings()))
        #expect(bench.router.owedDigests.isEmpty)
        #expect(bench.take(.quieted(nil, for: nil)).counts == 0)
    }

    @Test func theEndOfTheScheduleAsksForACountAndThePublishedDigestIsOwedNoMore() {
        var (bench, _) = bench()
        #expect(bench.take(.scheduled([])).counts == 1)
        let effects = bench.take(.digestsCounted(DigestCount(bench.router.dueDigests, .found(publication()))))
        let digest = effects.announced.first
        #expect(digest?.topic == DigestTally.topic && digest?.title == "1 event while it was quiet")
        #expect(bench.router.owedDigests.isEmpty)
        #expect(effects.digestChanges == 1)
        #expect(bench.wait(.milliseconds(100)).banners.map(\.newest.id) == [digest?.id])
        #expect(bench.take(.scheduled([])).counts == 0)
    }

    @Test func whereNothingIsLeftThereIsNoDigest() {
        var (bench, _) = bench()
        bench.take(.scheduled([]))
        #expect(bench.take(.digestsCounted(DigestCount(bench.router.dueDigests, .none))).announced.isEmpty)
        #expect(bench.router.owedDigests.isEmpty)
    }

    @Test func aLaterDigestTakesThePlaceOfTheEarlierOne() {
        var (bench, _) = bench()
        bench.take(.scheduled([]))
        let first = bench.take(.digestsCounted(DigestCount(bench.router.dueDigests, .found(publication()))))
        bench.take(.stored(except: []))
        bench.show(7)
        bench.take(.scheduled([Self.on(Self.night)]))
        bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        bench.take(.scheduled([]))
        let second = bench.take(.digestsCounted(DigestCount(bench.router.dueDigests, .found(publication()))))
        #expect(second.outcomes == [first.announced[0].id: .replaced])
        #expect(bench.wait(.milliseconds(100)).banners.map(\.replaces) == [BannerID(7)])
    }

    @Test(arguments: ["pause", "mute", "schedule"])
    func itWaitsWhileItsTopicIsQuietForAnotherCause(_ cause: String) {
        var (bench, _) = bench(Self.work)
        switch cause {
        case "pause": bench.take(.quieted(nil, for: .seconds(60)))
        case "mute": bench.take(.quieted(.all, for: .seconds(60)))
        default: break
        }
        let others = cause == "schedule" ? [Self.on(Self.night, hasDigest: false)] : []
        #expect(bench.take(.scheduled(others)).counts == 0)
        #expect(bench.router.owedDigests.count == 1)
        let end = cause == "schedule" ? bench.take(.scheduled([])) : bench.wait(.seconds(60))
        #expect(end.counts == 1)
    }

    @Test func whatIsQuietElsewhereDoesNotHoldItBack() {
        var (bench, _) = bench(Self.work)
        bench.take(.quieted(try! TopicPrefix("/chat"), for: .seconds(60)))
        #expect(bench.take(.scheduled([])).counts == 1)
    }

    @Test func whereAllThatIsLeftIsQuietItIsCountedAgainAtTheNextEnd() {
        var (bench, _) = bench()
        bench.take(.quieted(Self.post, for: .seconds(60)))
        #expect(bench.take(.scheduled([])).counts == 1)
        #expect(bench.take(.digestsCounted(DigestCount(bench.router.dueDigests, .quiet))).counts == 0)
        #expect(bench.router.owedDigests.count == 1)
        #expect(bench.wait(.seconds(60)).counts == 1)
    }

    @Test func liftingTheScheduleIsItsEnd() {
        var (bench, _) = bench(Self.work)
        #expect(bench.take(.quieted(Self.post, for: .zero)).counts == 1)
    }

    @Test func aScheduleThatTheConfigurationDropsHasEndedAndOneWithoutADigestOwesNoneAnyMore() {
        var (bench, _) = bench()
        #expect(bench.take(.scheduled([Self.on(Self.night, hasDigest: false)])).counts == 0)
        #expect(bench.router.owedDigests.isEmpty)
        (bench, _) = self.bench()
        // With another beginning it is another period, and the digest comes after that.
        let other = ActiveSchedule.Period(.all, began: 5)
        #expect(bench.take(.scheduled([Self.on(other)])).counts == 0)
        bench.publish("/post/2")
        bench.wait(.milliseconds(100))
        #expect(bench.take(.scheduled([])).counts == 1)
        #expect(bench.router.dueDigests.map(\.period) == [Self.night, other])
    }

    @Test func aPeriodThatComesTwiceHasTwoDigests() {
        var (bench, first) = bench()
        let late = bench.publish("/post/3", window: .seconds(50))
        bench.take(.scheduled([]))
        bench.take(.digestsCounted(DigestCount(bench.router.dueDigests, .none)))
        // The clock was set back.
        bench.take(.scheduled([Self.on(Self.night)]))
        let second = bench.publish("/post/2")
        bench.wait(.milliseconds(100))
        bench.wait(.seconds(50))
        #expect(first < late && late < second)
        #expect(bench.router.owedDigests == [OwedDigest(Self.night, name: second, first: late)])
    }

    @Test func aCountOfWhatHasChangedSinceIsMadeAgain() {
        var (bench, _) = bench()
        bench.take(.scheduled([]))
        let due = bench.router.dueDigests
        #expect(bench.take(.quieted(nil, for: .zero)).counts == 0)
        let outdated = bench.take(.digestsCounted(DigestCount(due, .found(publication()))))
        #expect(outdated.announced.isEmpty && outdated.counts == 0)
        #expect(bench.take(.quieted(nil, for: nil)).counts == 1)
        let again = bench.take(.digestsCounted(DigestCount(due, .found(publication()))))
        #expect(again.announced.count == 1)
    }

    @Test func aDigestThatCannotBeStoredIsOwedAgain() {
        var (bench, _) = bench()
        let owed = bench.router.owedDigests
        bench.take(.scheduled([]))
        let digest = bench.take(.digestsCounted(DigestCount(owed, .found(publication())))).announced[0].id
        #expect(bench.router.awaitsStored)
        let effects = bench.take(.stored(except: [digest]))
        #expect(effects.counts == 1 && effects.digestChanges == 1)
        #expect(bench.router.owedDigests == owed)
        #expect(!bench.router.awaitsStored)
    }

    @Test func aDigestThatIsRefusedIsTriedAgain() {
        var limits = Limits()
        limits.titleBytes = 4
        var bench = Bench(limits: limits)
        bench.take(.scheduled([Self.on(Self.night)]))
        bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        bench.take(.scheduled([]))
        let refused = bench.take(.digestsCounted(DigestCount(bench.router.dueDigests, .found(publication()))))
        #expect(refused.announced.isEmpty && bench.router.owedDigests.count == 1)
        #expect(bench.wait(.seconds(9)).counts == 0)
        #expect(bench.wait(.seconds(1)).counts == 1)
    }

    @Test func anEarlierRunsDigestIsDueAtTheStartUnlessItsScheduleIsStillOn() {
        var restoration = Restoration()
        restoration.digests = [
            OwedDigest(Self.night, name: EventID(3), first: EventID(3)),
            OwedDigest(Self.work, name: EventID(4), first: EventID(4)),
        ]
        var bench = Bench(firstID: EventID(10))
        bench.take(.scheduled([Self.on(Self.work)]))
        #expect(bench.take(.restored(restoration)).counts == 1)
        #expect(bench.router.dueDigests == [restoration.digests[0]])
        #expect(bench.router.owedDigests == restoration.digests)
    }

    @Test func anEventThatComesBackAfterASnoozeIsCountedAndADigestIsNot() {
        var bench = Bench()
        bench.take(.server(.ready))
        let id = bench.publish("/post/1")
        bench.show(7)
        bench.take(.snoozed(id, for: .seconds(60), by: Bench.peer))
        bench.take(.scheduled([Self.on(Self.night)]))
        let digest = bench.publish("/notifyd/digest")
        let effects = bench.wait(.seconds(60))
        #expect(effects.outcomes[id] == .muted && effects.outcomes[digest] == .muted)
        #expect(effects.resolutions[id]?.digest == id && effects.resolutions[digest]?.digest == nil)
        #expect(bench.router.owedDigests.map(\.first) == [id])
    }

    @Test func whatIsOwedIsLimited() {
        var limits = Limits()
        limits.digests = 1
        var bench = Bench(limits: limits)
        bench.take(
            .scheduled([Self.on(Self.work), Self.on(ActiveSchedule.Period(try! TopicPrefix("/chat"), began: 2))]))
        bench.publish("/chat/1")
        bench.wait(.milliseconds(100))
        let id = bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).resolutions[id]?.digest == nil)
        #expect(bench.router.owedDigests.map(\.period.topic.description) == ["/chat"])
    }
}

/// The text of a digest.
struct DigestTallyTests {
    private func event(_ topic: String, from: String? = nil, pattern: String? = nil) throws -> Event {
        let fields = from.map { [Field(name: "from", value: .string($0))] } ?? []
        let pattern = try pattern.map { try TopicPattern($0) }
        return .sample(1, topic, fields: fields, route: Route(pattern: pattern, window: .milliseconds(100)))
    }

    @Test func peopleComeFirstAndThenTopics() throws {
        var tally = DigestTally()
        for _ in 1...5 { tally.add(try event("/post/27")) }
        tally.add(try event("/run/r1/mate/Jun/finished", pattern: "/run/{session}/mate/{mate}/finished"))
        for _ in 1...3 { tally.add(try event("/chat/1", from: "Mum")) }
        #expect(tally.title == "9 events while it was quiet")
        #expect(tally.body == "Mum (3), Jun, post 27 (5)")
    }

    @Test(arguments: [
        (4, "/a/1, /a/2, /a/3, /a/4"), (5, "/a/1, /a/2, /a/3, /a/4 and 1 other"),
        (9, "/a/1, /a/2, /a/3, /a/4 and 5 others"), (2000, "/a/1, /a/10, /a/100, /a/1000 and many others"),
    ])
    func aFewAreNamed(_ count: Int, _ text: String) throws {
        var tally = DigestTally()
        for number in 1...count { tally.add(try event("/a/\(number)")) }
        #expect(tally.count == count)
        #expect(tally.body == text.replacing("/a/", with: "a "))
    }

    @Test func aLongNameIsShortened() throws {
        var tally = DigestTally()
        tally.add(try event("/a", from: String(repeating: "x", count: 100)))
        #expect(tally.body == String(repeating: "x", count: 40) + "…")
    }
}

extension [Effect] {
    fileprivate var counts: Int { count { if case .countDigests = $0 { true } else { false } } }
    fileprivate var digestChanges: Int {
        count { if case .changed(let tables) = $0 { tables.contains(.digests) } else { false } }
    }
    fileprivate var announced: [Event] {
        compactMap { if case .announce(let event, _) = $0 { event } else { nil } }
    }
}
