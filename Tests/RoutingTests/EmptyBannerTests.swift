import Testing

@testable import Routing

/// A banner that is up goes when nothing is left behind it, also where the last event waits to be added to it.
@Suite struct EmptyBannerTests {
    private var router: Router
    private var time: Int64 = 0

    /// Event 1 was shown and is claimed since; event 2 waits, because the circuit is open.
    init() throws {
        let routes = RouteTable(fallback: Route(pattern: nil, window: .milliseconds(100)))
        router = Router(routes: routes, banners: BannerSettings(maximumPerSecond: 0), firstID: EventID(1))
        _ = handle(.server(.ready))
        let topic = try Topic("/post/27")
        _ = handle(.published(Publication(topic: topic, title: "", body: "", sender: ":1.1")))
        time += 100_000
        for case .showBanner(let request) in handle(.timerFired) {
            _ = handle(.banner(request.call, .shown(BannerID(9))))
        }
        _ = handle(.published(Publication(topic: topic, title: "", body: "", sender: ":1.1")))
        time += 100_000
        var effects = handle(.timerFired)
        for _ in 1...3 {
            for case .showBanner(let request) in effects { effects = handle(.banner(request.call, .failed(.noAnswer))) }
        }
        _ = handle(.claimed(EventID(1), by: ":1.2"))
    }

    private var now: Now { Now(instant: Instant(microseconds: time), uptime: Uptime(microseconds: time)) }
    private mutating func handle(_ call: Call) -> [Effect] { router.handle(call, at: now).effects }
    private mutating func handle(_ happening: Happening) -> [Effect] { router.handle(happening, at: now) }

    private func closes(_ effects: [Effect]) -> [UInt32] {
        effects.compactMap { if case .keepBanner(.closed(let id)) = $0 { id.rawValue } else { nil } }
    }

    @Test mutating func itGoesWhenTheLastEventIsClaimed() {
        let effects = handle(.claimed(EventID(2), by: ":1.2"))
        #expect(closes(effects) == [9])
    }

    @Test mutating func itGoesWhenTheLastEventIsClaimedProvisionally() {
        let effects = handle(.claimedProvisionally(EventID(2), within: .seconds(5), by: ":1.2"))
        #expect(closes(effects) == [9])
    }

    @Test mutating func itGoesWhenTheLastEventIsMuted() {
        _ = handle(.quieted(nil, for: .zero))
        time += 30_000_000
        let effects = handle(.timerFired)
        #expect(closes(effects) == [9])
    }
}
