import Testing

@testable import Routing

/// A notification server is started when a banner is due, and only then.
struct ServerActivationTests {
    private var bench = Bench(banners: BannerSettings(startsServer: true))

    @Test mutating func aServerIsStartedOnceWhenTheFirstBannerIsDue() {
        #expect(bench.wait(.seconds(60)).starts == 0)
        bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).starts == 1)
        bench.publish("/post/2")
        #expect(bench.wait(.milliseconds(100)).starts == 0)
        #expect(bench.take(.server(.ready)).banners.count == 1)
    }

    @Test mutating func nothingIsStartedForWhatIsClaimedOrMuted() {
        let claimed = bench.publish("/post/1")
        #expect(bench.take(.claimed(claimed, by: Bench.peer)).starts == 0)
        bench.take(.quieted(nil, for: .zero))
        bench.publish("/post/2")
        #expect(bench.wait(.milliseconds(100)).starts == 0)
    }

    @Test mutating func attemptsBecomeRarerAndEnd() {
        bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).starts == 1)
        #expect(bench.wait(.milliseconds(4_900)).starts == 0)
        #expect(bench.wait(.milliseconds(100)).starts == 1)
        #expect(bench.wait(.seconds(9)).starts == 0)
        #expect(bench.wait(.seconds(1)).starts == 1)
        var starts = 0
        for _ in 0..<2_000 { starts += bench.wait(.seconds(5)).starts }
        // By the time alone six; another input may cause one every ten minutes.
        #expect((3...25).contains(starts))
    }

    @Test mutating func aServerThatHasShownABannerIsStartedAgainAtOnce() {
        bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        let call = bench.take(.server(.ready)).banners[0].call
        bench.take(.banner(call, .shown(BannerID(1))))
        #expect(bench.take(.server(.gone)).starts == 0)
        bench.publish("/post/2")
        #expect(bench.wait(.milliseconds(100)).starts == 1)
    }

    @Test func nothingIsStartedWhereThatIsSwitchedOff() {
        var bench = Bench()
        bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).starts == 0)
    }
}
