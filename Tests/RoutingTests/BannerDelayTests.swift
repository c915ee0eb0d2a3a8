import Testing

@testable import Routing

/// An outcome says what delayed its banner: a missing server must not look like a slow timer.
struct BannerDelayTests {
    private var bench = Bench()

    private static let window: Duration = .milliseconds(100)

    /// Answers the first banner asked for, and says what is then told about its event.
    private mutating func show(_ effects: [Effect]) throws -> Resolution {
        let request = try #require(effects.banners.first)
        let shown = bench.take(.banner(request.call, .shown(BannerID(7))))
        return try #require(shown.resolutions[request.newest.id])
    }

    @Test mutating func aBannerInTimeHasWaitedForNothing() throws {
        bench.take(.server(.ready))
        bench.publish("/post/1")
        let resolution = try show(bench.wait(Self.window))
        #expect(resolution.lateness == .zero)
        #expect(resolution.delay == nil)
    }

    @Test mutating func aTimerThatCameLateIsNothingElse() throws {
        bench.take(.server(.ready))
        bench.publish("/post/1")
        let resolution = try show(bench.wait(Self.window + .seconds(1)))
        #expect(resolution.lateness == .seconds(1))
        #expect(resolution.delay == nil)
    }

    @Test mutating func aMissingServerIsNamed() throws {
        let event = bench.publish("/post/1")
        bench.wait(Self.window)
        #expect(bench.router.progress(of: event) == .waiting(.absent))
        bench.pass(.seconds(37))
        let resolution = try show(bench.take(.server(.ready)))
        #expect(resolution.lateness == .seconds(37))
        #expect(resolution.delay == .absent)
    }

    @Test mutating func aServerThatIsExchangedWasMissing() throws {
        bench.take(.server(.ready))
        bench.publish("/post/1")
        bench.wait(Self.window)
        bench.take(.server(.gone))
        bench.pass(.seconds(5))
        #expect(try show(bench.take(.server(.ready))).delay == .absent)
    }

    @Test mutating func aServerThatRefusedIsNamed() throws {
        bench.take(.server(.ready))
        bench.publish("/post/1")
        let call = bench.wait(Self.window).banners[0].call
        bench.pass(.seconds(1))
        let resolution = try show(bench.take(.banner(call, .failed(.noAnswer))))
        #expect(resolution.lateness == .seconds(1))
        #expect(resolution.delay == .failed)
    }

    @Test mutating func aServerThatIsLeftAloneIsNamed() throws {
        bench.take(.server(.ready))
        let event = bench.publish("/post/1")
        var effects = bench.wait(Self.window)
        for _ in 1...3 { effects = bench.take(.banner(effects.banners[0].call, .failed(.noAnswer))) }
        #expect(bench.router.progress(of: event) == .waiting(.resting))
        #expect(try show(bench.wait(.seconds(30))).delay == .resting)
    }

    @Test mutating func aServerThatIsBusyIsNamed() throws {
        bench.take(.server(.ready))
        bench.publish("/post/1")
        bench.publish("/post/2")
        let call = bench.wait(Self.window).banners[0].call
        bench.pass(.milliseconds(50))
        let resolution = try show(bench.take(.banner(call, .shown(BannerID(6)))))
        #expect(resolution.lateness == .milliseconds(50))
        #expect(resolution.delay == .busy)
    }

    @Test mutating func theLimitOfBannersIsNamed() throws {
        bench = Bench(banners: BannerSettings(maximumPerSecond: 1))
        bench.take(.server(.ready))
        for number in 1...3 { bench.publish("/post/\(number)") }
        var number: UInt32 = 1
        var effects = bench.wait(Self.window)
        while let request = effects.banners.first {
            effects = bench.take(.banner(request.call, .shown(BannerID(number))))
            number += 1
        }
        let last = bench.publish("/post/4")
        bench.wait(Self.window)
        #expect(bench.router.progress(of: last) == .waiting(.limited))
        // The summary is updated once a second.
        let summary = bench.wait(.seconds(1))
        let resolution = bench.take(.banner(try #require(summary.banners.first).call, .shown(BannerID(9))))
        #expect(resolution.resolutions[last]?.delay == .limited)
    }

    /// What happens after the call is none of its reasons.
    @Test mutating func aLateAnswerIsToTheCallAsItWasMade() throws {
        bench.take(.server(.ready))
        let event = bench.publish("/post/1")
        bench.wait(Self.window)
        bench.wait(.seconds(5))
        let call = try #require(bench.wait(.seconds(5)).banners.first).call
        bench.wait(.seconds(5))
        #expect(bench.router.isServerCircuitOpen)
        let resolution = bench.take(.banner(call, .shown(BannerID(7)))).resolutions[event]
        #expect(resolution?.lateness == .seconds(10))
        #expect(resolution?.delay == .failed)
    }

    // MARK: Of several causes

    /// The circuit is open afterwards.
    private mutating func refuseThrice(_ effects: [Effect]) {
        var effects = effects
        for _ in 1...3 { effects = bench.take(.banner(effects.banners[0].call, .failed(.noAnswer))) }
    }

    @Test(arguments: [(12, 1, BannerDelay.resting), (1, 12, .absent)])
    mutating func theCauseThatLastedLongestIsNamed(_ cooldown: Int, _ absence: Int, _ cause: BannerDelay) throws {
        bench.take(.server(.ready))
        bench.publish("/post/1")
        refuseThrice(bench.wait(Self.window))
        bench.pass(.seconds(cooldown))
        bench.take(.server(.gone))
        bench.pass(.seconds(absence))
        #expect(try show(bench.take(.server(.ready))).delay == cause)
    }

    @Test mutating func aServerThatFailsAgainAfterItsCooldownIsStillLeftAlone() throws {
        bench.take(.server(.ready))
        bench.publish("/post/1")
        refuseThrice(bench.wait(Self.window))
        for _ in 1...2 {
            let probe = try #require(bench.wait(.seconds(30)).banners.first)
            bench.take(.banner(probe.call, .failed(.noAnswer)))
        }
        bench.take(.server(.gone))
        bench.pass(.seconds(40))
        #expect(try show(bench.take(.server(.ready))).delay == .resting)
    }

    @Test mutating func whatACallWaitedForBeforeTheServerLeftCounts() throws {
        bench.take(.server(.ready))
        bench.publish("/post/1")
        bench.wait(Self.window)
        bench.wait(.seconds(4))
        bench.take(.server(.gone))
        bench.pass(.seconds(1))
        #expect(try show(bench.take(.server(.ready))).delay == .busy)
    }

    @Test mutating func onlyTheTimeAfterTheDeadlineCounts() throws {
        bench.publish("/post/1")
        bench.wait(.seconds(30))
        let late = bench.publish("/post/2")
        bench.wait(Self.window)
        bench.wait(.milliseconds(50))
        bench.take(.server(.ready))
        let effects = bench.wait(.milliseconds(100))
        let resolution = try show(effects)
        #expect(effects.banners.first?.newest.id == late)
        #expect(resolution.lateness == .milliseconds(150))
        #expect(resolution.delay == .busy)
    }

    @Test func aServerThatHasNotSaidWhatItCanDoIsBusyNotAbsent() {
        var bench = Bench()
        bench.take(.server(.found))
        let id = bench.publish("/post/1")
        bench.wait(.milliseconds(100))
        #expect(bench.router.progress(of: id) == .waiting(.busy))
        bench.pass(.seconds(3))
        let request = bench.take(.server(.ready)).banners[0]
        let effects = bench.take(.banner(request.call, .shown(BannerID(1))))
        #expect(effects.resolutions[id]?.delay == .busy)
        #expect(effects.resolutions[id]?.lateness == .seconds(3))
    }
}
