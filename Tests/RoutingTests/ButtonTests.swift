import Testing

@testable import Routing

/// A pressed button closes its banner, decides what is behind it, and is told once.
struct ButtonTests {
    private let route: Route

    init() throws {
        var appearance = Appearance()
        appearance.actions = [Route.Action(key: "accept", label: "Accept")]
        route = Route(pattern: try TopicPattern("/post/{id}"), window: .milliseconds(100), appearance: appearance)
    }

    /// A bench with a banner 7 that shows these many events.
    private func bench(_ count: Int = 1) -> (Bench, [EventID]) {
        var bench = Bench([route])
        bench.take(.server(.ready))
        let ids = (0..<count).map { _ in bench.publish("/post/1") }
        bench.take(.banner(bench.wait(.milliseconds(500)).banners[0].call, .shown(BannerID(7))))
        return (bench, ids)
    }

    @Test func thePressedEventHasTheActionAndAllAreDismissed() {
        var (bench, ids) = bench(2)
        let effects = bench.take(.actionInvoked(BannerID(7), action: "accept"))
        #expect(effects.actions == [ids[1]])
        #expect(effects.outcomes == [ids[0]: .dismissed, ids[1]: .dismissed])
        #expect(ids.map { effects.resolutions[$0]?.action } == [nil, "accept"])
        #expect(effects.closed == [BannerID(7)])
        #expect(bench.take(.bannerClosed(BannerID(7), .dismissed)).outcomes.isEmpty)
        #expect(bench.router.rememberedEvents == 0)
    }

    @Test(arguments: [ClosingReason.dismissed, .other])
    func aButtonThatIsReportedAfterTheEndOfItsBannerCounts(_ reason: ClosingReason) {
        var (bench, ids) = bench()
        #expect(bench.take(.bannerClosed(BannerID(7), reason)).outcomes.isEmpty)
        let effects = bench.take(.actionInvoked(BannerID(7), action: "accept"))
        #expect(effects.actions == ids)
        #expect(effects.resolutions[ids[0]]?.action == "accept")
        #expect(effects.closed.isEmpty)
        #expect(bench.wait(.seconds(1)).outcomes.isEmpty)
    }

    @Test func aBannerClosedWithoutAButtonIsDismissedATenthOfASecondLater() {
        var (bench, ids) = bench()
        bench.take(.bannerClosed(BannerID(7), .dismissed))
        let effects = bench.wait(.milliseconds(100))
        #expect(effects.outcomes == [ids[0]: .dismissed])
        #expect(effects.resolutions[ids[0]]?.action == nil)
        #expect(bench.take(.actionInvoked(BannerID(7), action: "accept")).isEmpty)
    }

    @Test func aServerThatLeavesHasNoButtonsToReport() {
        var (bench, ids) = bench()
        bench.take(.bannerClosed(BannerID(7), .dismissed))
        #expect(bench.take(.server(.gone)).outcomes == [ids[0]: .dismissed])
    }

    @Test func whatComesIntoTheBannerMeanwhileIsStillShown() {
        var (bench, ids) = bench()
        let next = bench.publish("/post/1")
        let call = bench.wait(.milliseconds(500)).banners[0].call
        let effects = bench.take(.actionInvoked(BannerID(7), action: "accept"))
        #expect(effects.outcomes == [ids[0]: .dismissed])
        #expect(effects.closed.isEmpty)
        #expect(bench.take(.banner(call, .shown(BannerID(7)))).outcomes == [next: .shown])
        #expect(bench.take(.claimed(next, by: Bench.peer)).closed == [BannerID(7)])
    }

    /// The server was not asked to update it after all, for the update spoke of what the button has dismissed.
    @Test func aBannerThatIsNotUpdatedAfterAllDoesNotStayUp() {
        var (bench, _) = bench()
        let next = bench.publish("/post/1")
        let call = bench.wait(.milliseconds(500)).banners[0].call
        bench.take(.actionInvoked(BannerID(7), action: "accept"))
        let again = bench.take(.banner(call, .failed(.notAsked))).banners[0]
        #expect(again.replaces == BannerID(7))
        #expect(again.count == 1)
        bench.take(.claimed(next, by: Bench.peer))
        #expect(bench.take(.banner(again.call, .shown(BannerID(7)))).closed == [BannerID(7)])
    }

    @Test(arguments: ["default", "other", "", "Accept"])
    func aButtonThatTheBannerDoesNotHaveIsIgnored(_ key: String) {
        var (bench, ids) = bench(2)
        #expect(!bench.router.offers(key, on: BannerID(7)))
        #expect(bench.take(.actionInvoked(BannerID(7), action: key)).isEmpty)
        bench.take(.bannerClosed(BannerID(7), .other))
        #expect(bench.take(.actionInvoked(BannerID(7), action: key)).isEmpty)
        #expect(bench.take(.actionInvoked(BannerID(7), action: "accept")).actions == [ids[1]])
    }

    @Test func aButtonBelongsToTheNewestEventThatOffersIt() throws {
        var bench = Bench([Route(pattern: try TopicPattern("/post/{id}"), window: .milliseconds(100))])
        bench.take(.server(.ready))
        let offer = Field(name: "actions", value: .array(of: "s", [.string("yes"), .string("Yes")]))
        let first = bench.publish("/post/1", options: try PublishOptions([offer]))
        let second = bench.publish("/post/1")
        bench.take(.banner(bench.wait(.milliseconds(500)).banners[0].call, .shown(BannerID(7))))
        let effects = bench.take(.actionInvoked(BannerID(7), action: "yes"))
        #expect(effects.actions == [first])
        #expect(effects.outcomes == [first: .dismissed, second: .dismissed])
        #expect(effects.resolutions[first]?.action == "yes")
    }

    @Test func aSummaryOfSeveralEventsHasNoButtons() {
        var bench = Bench([route], banners: BannerSettings(maximumPerSecond: 1))
        bench.take(.server(.ready))
        for number in 1...4 { bench.publish("/post/\(number)") }
        var calls = bench.wait(.milliseconds(100)).banners
        for number in 7...10 as ClosedRange<UInt32> {
            guard let call = calls.first else { break }
            calls = bench.take(.banner(call.call, .shown(BannerID(number)))).banners
            guard call.isSummary else { continue }
            #expect(bench.take(.actionInvoked(BannerID(number), action: "accept")).isEmpty)
            return
        }
        Issue.record("there is no summary")
    }
}
