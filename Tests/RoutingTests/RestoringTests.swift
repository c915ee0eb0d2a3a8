import Testing

@testable import Routing

/// Going on after an earlier run, whatever the clock says.
struct RestoringTests {
    @Test func idsGrowThoughTheClockWasSetBack() throws {
        let routes = RouteTable(fallback: Route(pattern: nil, window: .zero))
        var router = Router(routes: routes, firstID: EventID(1_000))
        let now = Now(instant: Instant(microseconds: 0), uptime: Uptime(microseconds: 0))
        var restoration = Restoration()
        restoration.lastID = EventID(5_000)
        _ = router.handle(.restored(restoration), at: now)
        let push = Publication(topic: try Topic("/post/27"), title: "", body: "", sender: ":1.1")
        _ = router.handle(.published(push), at: now)
        #expect(router.lastID == EventID(5_001))
    }
}
