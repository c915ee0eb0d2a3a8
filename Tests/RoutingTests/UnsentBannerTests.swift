import Testing

@testable import Routing

/// A banner that is decided on leaves for the server later: at the end of the turn, and once it is known what the
/// server can do.
struct UnsentBannerTests {
    private var bench: Bench
    private let first: EventID
    private let second: EventID
    private let request: BannerRequest

    /// Two events are behind a banner that has not left.
    init() throws {
        bench = Bench([Route(pattern: try TopicPattern("/post/{id}"), window: .milliseconds(100), coalescing: .route)])
        bench.callsLeave = false
        bench.take(.server(.ready))
        first = bench.publish("/post/1")
        second = bench.publish("/post/2")
        request = try #require(bench.wait(.milliseconds(100)).banners.first)
    }

    private mutating func claim(_ id: EventID) -> [Effect] { bench.take(.claimed(id, by: Bench.peer)) }

    @Test mutating func aClaimOfAnEventInItIsInTime() throws {
        for id in [first, second] {
            let effects = claim(id)
            #expect(bench.reply == .success(.verdict(.suppressed)), "the verdict on \(id)")
            #expect(effects.outcomes == [id: .claimed])
        }
        #expect(!bench.router.isCurrent(request))
        let effects = bench.take(.banner(request.call, .failed(.notAsked)))
        #expect(effects.banners.isEmpty && effects.closed.isEmpty)
        #expect(bench.router.rememberedEvents == 0)
    }

    @Test mutating func aClaimOfAnEventInItIsLateOnceItHasLeft() {
        bench.take(.banner(request.call, .sent))
        #expect(claim(first).outcomes == [first: .retracted])
        _ = claim(second)
        #expect(bench.reply == .success(.verdict(.retracted)))
        #expect(bench.take(.banner(request.call, .shown(BannerID(7)))).closed == [BannerID(7)])
    }

    @Test mutating func theOthersAreAskedForWithoutIt() {
        _ = claim(second)
        #expect(!bench.router.isCurrent(request))
        let again = bench.take(.banner(request.call, .failed(.notAsked))).banners
        #expect(again.map(\.newest.id) == [first] && again.map(\.count) == [1])
        #expect(bench.router.isCurrent(again[0]))
    }

    /// There are two again, but not the same two.
    @Test mutating func anEventThatComesMeanwhileHidesNoClaim() {
        _ = claim(first)
        let third = bench.publish("/post/3", window: .zero)
        bench.wait(.zero)
        #expect(!bench.router.isCurrent(request))
        let again = bench.take(.banner(request.call, .failed(.notAsked))).banners
        #expect(again.map(\.newest.id) == [third] && again[0].others.map(\.id) == [second])
    }

    @Test mutating func aProvisionalClaimOfAnEventInItIsInTime() {
        bench.take(.claimedProvisionally(second, within: .seconds(1), by: Bench.peer))
        #expect(bench.reply == .success(.verdict(.suppressed)))
        let again = bench.take(.banner(request.call, .failed(.notAsked))).banners
        #expect(again.map(\.newest.id) == [first])
        bench.take(.banner(again[0].call, .sent))
        bench.take(.banner(again[0].call, .shown(BannerID(7))))
        let update = bench.take(.answered(second, .released, by: Bench.peer)).banners
        #expect(update.map(\.newest.id) == [second] && update.map(\.replaces) == [BannerID(7)])
    }

    @Test mutating func anUpdateThatHasNotLeftLeavesTheBannerAsItIs() throws {
        bench.take(.banner(request.call, .sent))
        bench.take(.banner(request.call, .shown(BannerID(7))))
        let third = bench.publish("/post/3", window: .zero)
        let update = try #require(bench.wait(.zero).banners.first)
        #expect(claim(third).outcomes == [third: .claimed])
        #expect(!bench.router.isCurrent(update))
        let effects = bench.take(.banner(update.call, .failed(.notAsked)))
        #expect(effects.banners.isEmpty && effects.closed.isEmpty)
    }
}
