import Routing
import Testing

/// What happens to banners when claims, answers and ends of lifetimes meet.
struct BannerEdgeTests {
    @Test func aStaleEventIsNotAskedForAgainAfterAFailure() {
        var bench = Bench()
        bench.take(.serverAppeared)
        let event = bench.publish("/post/1", lifetime: .seconds(1))
        let call = bench.wait(.milliseconds(100)).banners[0].call
        bench.pass(.seconds(2))
        let effects = bench.take(.bannerFailed(call, .noAnswer))
        #expect(effects.banners.isEmpty)
        #expect(effects.outcomes == [event: .expired])
    }
}
