import Testing

@testable import Routing

/// `Snooze`: a banner leaves, and comes back at its time.
struct SnoozeTests {
    private let one = try! TopicPrefix("/post/1")

    /// A bench with a server that has shown an event.
    private func bench(_ topic: String = "/post/1") -> (bench: Bench, id: EventID) {
        var bench = Bench()
        bench.take(.server(.ready))
        let id = bench.publish(topic)
        bench.show(7)
        return (bench, id)
    }

    @Test func theBannerIsClosedAndComesBackAtItsTime() {
        var (bench, id) = bench()
        #expect(bench.snooze(id, .seconds(60)).closed == [BannerID(7)])
        #expect(bench.router.snoozed.map(\.id) == [id])
        #expect(bench.wait(.seconds(59)).banners.isEmpty)
        #expect(bench.wait(.seconds(1)).banners.map(\.newest.id) == [id])
        #expect(bench.router.snoozed.map(\.id) == [id])
    }

    @Test func aSharedBannerIsUpdatedWithoutIt() throws {
        var bench = Bench()
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        let second = bench.publish("/post/1")
        bench.show(7)
        let effects = bench.snooze(second, .seconds(60))
        #expect(effects.closed.isEmpty)
        let update = try #require(effects.banners.first)
        #expect(update.newest.id == first)
        #expect(update.count == 1)
    }

    /// The event that stays behind refers to the first banner by the name of the event that comes back.
    @Test func theBannerItComesBackInIsNotTheOneItLeft() throws {
        var bench = Bench()
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        let second = bench.publish("/post/1")
        bench.show(7)
        bench.snooze(first, .seconds(60))
        bench.show(7)
        bench.take(.bannerClosed(BannerID(7), .other))
        let request = try #require(bench.wait(.seconds(60)).banners.first)
        let effects = bench.take(.banner(request.call, .shown(BannerID(8))))
        let name = try #require(effects.resolutions[first]?.shownWith)
        #expect(name > second)
        #expect(bench.publish("/post/2") > name)
    }

    @Test func aClaimBeforeItsTimeEndsIt() {
        var (bench, id) = bench()
        bench.snooze(id, .seconds(60))
        #expect(bench.take(.claimed(id, by: ":1.2")).outcomes[id] == .claimed)
        #expect(bench.router.snoozed.isEmpty)
        #expect(bench.wait(.seconds(3600)).banners.isEmpty)
    }

    @Test(arguments: ["topic", "read", "withdraw", "forget", "screen"])
    func whatTakesTheEventAwayEndsIt(_ cause: String) {
        var (bench, id) = bench()
        bench.snooze(id, .seconds(60))
        switch cause {
        case "topic": bench.take(.topicClaimed(one, .grace(.zero), by: ":1.2"))
        case "read": bench.take(.topicClaimed(one, .read(upTo: EventID(0)), by: ":1.2"))
        case "withdraw": bench.take(.withdrawn(id, by: ":1.2"))
        case "forget": bench.take(.forgotten([id]))
        default: bench.take(.screenOpened(one, ScreenOptions(), by: ":1.2"))
        }
        #expect(bench.router.snoozed.isEmpty)
        #expect(!bench.router.remembers(id))
        #expect(bench.wait(.seconds(3600)).banners.isEmpty)
    }

    @Test func aLaterEventWithTheSameCollapseTakesItsPlace() {
        var bench = Bench()
        bench.take(.server(.ready))
        let id = bench.publish("/post/1", collapse: "c")
        bench.show(7)
        bench.snooze(id, .seconds(60))
        bench.publish("/post/1", collapse: "c")
        #expect(bench.router.snoozed.isEmpty)
        #expect(!bench.router.remembers(id))
    }

    @Test func whatIsDueWhileTopicsAreMutedStaysMuted() {
        var (bench, id) = bench()
        bench.snooze(id, .seconds(60))
        bench.take(.quieted(one, for: .seconds(600)))
        let resolution = bench.wait(.seconds(60)).resolutions[id]
        #expect(resolution?.outcome == .muted)
        #expect(resolution?.quiet?.topic == one)
        #expect(bench.router.snoozed.isEmpty)
        #expect(bench.wait(.seconds(3600)).banners.isEmpty)
    }

    @Test func aMutedEventComesFromTheJournal() {
        var bench = Bench()
        bench.take(.server(.ready))
        bench.take(.quieted(one, for: .seconds(30)))
        let id = bench.publish("/post/1")
        let event = bench.router.event(id)!
        #expect(bench.wait(.milliseconds(100)).outcomes[id] == .muted)
        bench.take(
            .snoozed(id, for: .seconds(60), by: ":1.2"),
            reading: Stored(events: [ColdEvent(event, age: .milliseconds(100), .unseen(.muted))]))
        #expect(bench.wait(.seconds(60)).banners.map(\.newest.id) == [id])
    }

    @Test func aRestoredOneThatIsDueComesAtOnce() {
        var (first, id) = bench()
        let event = first.router.event(id)!
        first.snooze(id, .seconds(60))
        var bench = Bench(firstID: EventID(100))
        bench.take(.server(.ready))
        var restoration = Restoration()
        restoration.snoozes = [
            Restoration.Remembered((event: event, age: .seconds(90)), left: .seconds(-1))
        ]
        bench.take(.restored(restoration))
        #expect(bench.wait(.zero).banners.map(\.newest.id) == [id])
    }

    @Test(arguments: [59, 604_801])
    func aTimeThatIsTooShortOrTooLongIsRefused(_ seconds: Int) {
        var (bench, id) = bench()
        bench.snooze(id, .seconds(seconds))
        #expect(bench.reply?.refused(Refusal.limitExceeded) != nil)
    }

    @Test func anUndecidedOrReadEventIsRefused() {
        var bench = Bench()
        let id = bench.publish("/post/1")
        bench.snooze(id, .seconds(60))
        #expect(bench.reply?.refused(Refusal.invalidEvent) != nil)
        bench.take(.claimed(id, by: ":1.2"))
        bench.snooze(id, .seconds(60))
        #expect(bench.reply?.refused(Refusal.invalidEvent) != nil)
    }

    @Test(arguments: [true, false]) func theLimitIsTold(_ byBytes: Bool) {
        var limits = Limits()
        if byBytes { limits.snoozeBytes = 800 } else { limits.snoozes = 1 }
        var bench = Bench(limits: limits)
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        bench.show(7)
        let second = bench.publish("/post/2")
        bench.show(8)
        bench.snooze(first, .seconds(60))
        bench.snooze(second, .seconds(60))
        #expect(bench.reply?.refused(Refusal.limitExceeded) != nil)
        // Its own time can be set again.
        bench.snooze(first, .seconds(90))
        #expect(bench.reply == .success(.done))
        // One that ends makes room.
        bench.take(.claimed(first, by: ":1.2"))
        bench.snooze(second, .seconds(60))
        #expect(bench.reply == .success(.done))
    }
}

extension Bench {
    @discardableResult
    mutating func snooze(_ id: EventID, _ time: Duration) -> [Effect] {
        take(.snoozed(id, for: time, by: ":1.2"))
    }
}
