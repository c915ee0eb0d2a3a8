import Testing

@testable import Routing

/// What the router refuses, and what it forgets.
@Suite struct LimitsTests {
    private static let now = Now(instant: Instant(microseconds: 1), uptime: Uptime(microseconds: 1))

    private func router(_ change: (inout Limits) -> Void = { _ in }) -> Router {
        var limits = Limits()
        change(&limits)
        let routes = RouteTable(fallback: Route(pattern: nil, window: .milliseconds(100)))
        return Router(routes: routes, banners: BannerSettings(maximumPerSecond: 0), limits: limits, firstID: EventID(1))
    }

    private func publication(
        _ topic: String = "/post/27", title: String = "", body: String = "", size: Int = 0, sender: String = ":1.1"
    ) throws -> Publication {
        Publication(topic: try Topic(topic), title: title, body: body, sender: sender, size: size)
    }

    private func answer(_ router: inout Router, _ call: Call, at now: Now = now) -> Result<Reply, Refusal> {
        router.handle(call, at: now).reply
    }

    @Test func sizesAreLimitedInBytes() throws {
        var router = router()
        let fits = try publication(
            title: String(repeating: "x", count: 1024), body: String(repeating: "x", count: 8192), size: 65536)
        #expect(answer(&router, .published(fits)) == .success(.accepted(EventID(1))))
        for tooLarge in [
            try publication(title: String(repeating: "희", count: 342)),
            try publication(body: String(repeating: "x", count: 8193)), try publication(size: 65537),
        ] {
            #expect(answer(&router, .published(tooLarge)).refused(Refusal.tooLarge) != nil)
        }
        #expect(router.statistics[.refused] == 3)
        #expect(router.rememberedEvents == 1)
    }

    @Test func theOldestShownEventIsForgottenWhenThereAreTooMany() throws {
        var router = router { $0.retractableEvents = 2 }
        _ = router.handle(.server(.ready), at: Self.now)
        for number in 1...3 { _ = router.handle(.published(try publication("/post/\(number)")), at: Self.now) }
        let later = Now(instant: Instant(microseconds: 200_000), uptime: Uptime(microseconds: 200_000))
        var number: UInt32 = 0
        for case .showBanner(let request) in router.handle(.timerFired, at: later) {
            number += 1
            _ = router.handle(.banner(request.call, .shown(BannerID(number))), at: later)
        }
        #expect(router.statistics[.shown] == 3)
        #expect(router.rememberedEvents == 2)
        #expect(router.statistics[.forgotten] == 1)
        #expect(answer(&router, .claimed(EventID(1), by: ":1.9")) == .success(.verdict(.recorded)))
        #expect(answer(&router, .claimed(EventID(2), by: ":1.9")) == .success(.verdict(.retracted)))
    }

    @Test func openWindowsKeepTheirDeadlinesWhenTheConfigurationChanges() throws {
        var router = router()
        _ = router.handle(.server(.ready), at: Self.now)
        _ = router.handle(.published(try publication()), at: Self.now)
        let quiet = RouteTable(fallback: Route(pattern: nil, banner: false, window: .zero))
        _ = router.handle(.reconfigured(quiet, BannerSettings(), ScreenSettings()), at: Self.now)
        #expect(router.openWindows == 1)
        let deadline = Now(instant: Instant(microseconds: 100_001), uptime: Uptime(microseconds: 100_001))
        let banners = router.handle(.timerFired, at: deadline).count {
            if case .showBanner = $0 { true } else { false }
        }
        #expect(banners == 1)
    }

    @Test func aTimerThatFiresEarlyDoesNothing() throws {
        var router = router()
        _ = router.handle(.published(try publication()), at: Self.now)
        #expect(router.handle(.timerFired, at: Self.now).isEmpty)
        #expect(router.openWindows == 1)
    }
}
