import Testing

@testable import Routing

/// What the router asks its reader for: events that are only stored.
struct ReaderTests {
    private var bench = Bench(firstID: EventID(100), oldestID: EventID(0))

    private static func event(_ id: UInt64, collapse: String? = nil) -> Event {
        .sample(id, collapse: collapse)
    }

    private static func stored(_ state: ColdEvent.State, collapse: String? = nil) -> Stored {
        Stored(events: [ColdEvent(event(1, collapse: collapse), age: .seconds(60), state)])
    }

    @Test mutating func anEventThatAnEarlierRunLeftUndecidedIsAnnouncedAndThenClaimed() {
        var restoration = Restoration()
        restoration.undecided = [
            .init((event: Self.event(1), window: .milliseconds(100), age: .seconds(60)), left: .seconds(60))
        ]
        let effects = bench.take(
            .claimed(EventID(1), by: ":1.2"), reading: Self.stored(.undecided(restoration)))
        guard case .announce(let event, let announcement)? = effects.first else {
            Issue.record("\(effects)")
            return
        }
        #expect(event.id == EventID(1) && announcement.isReplayed)
        #expect(effects.outcomes == [EventID(1): .claimed])
        #expect(bench.reply == .success(.verdict(.suppressed)))
    }

    @Test(arguments: [Outcome.silent, .muted, .expired])
    mutating func aClaimOfWhatNobodyHasSeenMarksItAsRead(_ outcome: Outcome) {
        let effects = bench.take(.claimed(EventID(1), by: ":1.2"), reading: Self.stored(.unseen(outcome)))
        let readers = effects.compactMap {
            if case .read(.event(EventID(1)), let reader, _, _) = $0 { reader } else { nil }
        }
        let steps = effects.compactMap { if case .noteClaim(_, let step) = $0 { step } else { nil } }
        #expect(readers == [":1.2"] && steps.map(\.latency) == [.seconds(60)])
        #expect(bench.reply == .success(.verdict(.recorded)) && !bench.router.remembers(EventID(1)))
    }

    @Test(arguments: [false, true])
    mutating func theBannerOfAShownEventClosesUnlessItShowsOthers(_ isShared: Bool) {
        bench.take(.server(.ready))
        let banner = RestoredBanner(BannerID(7), first: EventID(1), isSummary: false, events: [])
        let reader = Self.stored(.shown(banner, isShared: isShared))
        let effects = bench.take(.claimed(EventID(1), by: ":1.2"), reading: reader)
        #expect(effects.outcomes == [EventID(1): .retracted])
        #expect(effects.closed == (isShared ? [] : [BannerID(7)]))
        #expect(bench.reply == .success(.verdict(isShared ? .recorded : .retracted)))
    }

    @Test mutating func aNewEventTakesThePlaceOfAStoredOne() {
        var options = PublishOptions()
        options.collapse = "one"
        let effects = bench.push(
            "/post/1", options, reading: Self.stored(.shown(nil, isShared: false), collapse: "one"))
        #expect(effects.outcomes == [EventID(1): .replaced])
    }

    private func named(_ topic: String = "/post/1") -> Publication {
        var options = PublishOptions()
        options.origin = Origin(source: "chat", eventID: "1")
        return Publication(topic: try! Topic(topic), title: "", body: "", options: options, sender: Bench.peer)
    }

    @Test mutating func aRepeatOfWhatIsOnlyStoredIsAnsweredWithTheFirstID() {
        let effects = bench.take(.published(named()), reading: Stored(names: [named().options.origin: EventID(1)]))
        #expect(effects.isEmpty && bench.reply == .success(.accepted(EventID(1))))
        #expect(bench.router.statistics[.repeated] == 1)
    }

    @Test mutating func anAwaitedClaimHasNoEffectAtATopicWhereItIsForbidden() {
        let origin = named().options.origin
        bench.take(.claimedNamed(NamedClaim(name: .origin(origin), origin: origin, claimant: ":1.2"), event: nil))
        #expect(bench.reply == .success(.verdict(.awaited)))
        let effects = bench.take(.published(named()), reading: Stored(forbidsAwaited: true))
        #expect(effects.outcomes.isEmpty && bench.router.awaitedCount == 0)
    }

    @Test mutating func aCallThatCannotBeLookedUpIsRefusedAndChangesNothing() {
        let broken = Stored(isBroken: true)
        bench.take(.claimed(EventID(1), by: ":1.2"), reading: broken)
        #expect(bench.reply?.refused(Refusal.storageUnavailable) != nil)
        #expect(bench.take(.published(named()), reading: broken).isEmpty)
        #expect(bench.router.statistics[.published] == 0 && bench.router.statistics[.refused] == 2)
        bench.take(.published(named()))
        #expect(bench.reply == .success(.accepted(EventID(100))))
    }

    @Test mutating func onlyACallAboutAnEventThatIsNotInMemoryIsCold() {
        let id = bench.publish("/post/1")
        let calls: [Call] = [
            .claimed(id, by: ":1.2"), .claimed(EventID(1), by: ":1.2"), .topicClaimed(.all, .grace(.zero), by: ":1.2"),
        ]
        var router = bench.router
        #expect(calls.map { router.isCold($0) } == [false, true, false])
        var restoration = Restoration()
        restoration.remaining = 1
        bench.take(.restored(restoration))
        router = bench.router
        #expect(calls.map { router.isCold($0) } == [false, true, true])
    }

    @Test mutating func anEventWhoseBannerIsGoneCanLeaveMemoryAndIsRetractedByALateClaim() {
        bench = Bench()
        bench.take(.server(.ready))
        for number in 1...3 as ClosedRange<UInt32> {
            bench.publish("/post/\(number)")
            bench.take(.banner(bench.wait(.milliseconds(500)).banners[0].call, .shown(BannerID(number))))
        }
        bench.take(.bannerClosed(BannerID(1), .other))
        bench.take(.claimed(EventID(3), by: ":1.2"))
        bench.forgetGone()
        #expect([1, 2, 3].map { bench.router.remembers(EventID($0)) } == [false, true, false])
        let effects = bench.take(
            .claimed(EventID(1), by: ":1.2"), reading: Self.stored(.shown(nil, isShared: false)))
        #expect(effects.outcomes == [EventID(1): .retracted])
        #expect(bench.take(.bannerClosed(BannerID(2), .dismissed)).outcomes == [EventID(2): .dismissed])
        #expect(bench.router.rememberedEvents == 0)
    }
}
