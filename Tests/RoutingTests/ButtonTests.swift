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
        bench.take(.serverAppeared)
        let ids = (0..<count).map { _ in bench.publish("/post/1") }
        bench.take(.bannerShown(bench.wait(.milliseconds(500)).banners[0].call, BannerID(7)))
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
        #expect(bench.take(.serverVanished).outcomes == [ids[0]: .dismissed])
    }

    @Test func whatComesIntoTheBannerMeanwhileIsStillShown() {
        var (bench, ids) = bench()
        let next = bench.publish("/post/1")
        let call = bench.wait(.milliseconds(500)).banners[0].call
        let effects = bench.take(.actionInvoked(BannerID(7), action: "accept"))
        #expect(effects.outcomes == [ids[0]: .dismissed])
        #expect(effects.closed.isEmpty)
        #expect(bench.take(.bannerShown(call, BannerID(7))).outcomes == [next: .shown])
        #expect(bench.take(.claimed(next, by: Bench.peer)).closed == [BannerID(7)])
    }

    /// The server was not asked to update it after all, for the update spoke of what the button has dismissed.
    @Test func aBannerThatIsNotUpdatedAfterAllDoesNotStayUp() {
        var (bench, _) = bench()
        let next = bench.publish("/post/1")
        let call = bench.wait(.milliseconds(500)).banners[0].call
        bench.take(.actionInvoked(BannerID(7), action: "accept"))
        let again = bench.take(.bannerFailed(call, .notAsked)).banners[0]
        #expect(again.replaces == BannerID(7))
        #expect(again.count == 1)
        bench.take(.claimed(next, by: Bench.peer))
        #expect(bench.take(.bannerShown(again.call, BannerID(7))).closed == [BannerID(7)])
    }
}
