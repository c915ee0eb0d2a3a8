import Testing

@testable import Routing

/// Several claimants hold one event.
struct SeveralHoldersTests {
    private var bench = Bench()
    private var id = EventID(0)

    init() {
        bench.take(.server(.ready))
        id = bench.publish("/post/1")
    }

    private mutating func hold(by peer: String, within time: Duration = .seconds(1)) -> Verdict? {
        bench.take(.claimedProvisionally(id, within: time, by: peer))
        return if case .success(.verdict(let verdict)) = bench.reply { verdict } else { nil }
    }

    @Test mutating func itIsClaimedWhenTheFirstOneConfirms() {
        #expect(hold(by: ":1.2") == .suppressed)
        #expect(hold(by: ":1.3") == .suppressed)
        #expect(hold(by: ":1.3") == .recorded, "it holds it already")
        #expect(bench.wait(.milliseconds(200)).banners.isEmpty)
        #expect(hold(by: ":1.4") == .suppressed, "also after the window")
        let effects = bench.take(.answered(id, .completed, by: ":1.3"))
        #expect(effects.outcomes == [id: .claimed])
        #expect(effects.resolutions[id]?.claimant == ":1.3")
        #expect(bench.router.screens.holds.count == 0)
        bench.take(.answered(id, .completed, by: ":1.2"))
        guard case .failure(.notClaimant) = bench.reply else {
            Issue.record("its claim has ended")
            return
        }
        #expect(bench.wait(.seconds(5)).banners.isEmpty)
    }

    @Test mutating func itBecomesABannerWhenTheLastOneHasFailed() {
        _ = hold(by: ":1.2", within: .milliseconds(300))
        _ = hold(by: ":1.3", within: .seconds(2))
        _ = hold(by: ":1.4", within: .seconds(3))
        #expect(bench.wait(.milliseconds(500)).banners.isEmpty)
        #expect(bench.take(.answered(id, .released, by: ":1.4")).banners.isEmpty)
        #expect(bench.take(.peer(":1.3", .left)).banners.map(\.newest.id) == [id])
        #expect(hold(by: ":1.5") == .recorded, "it has gone to the server")
    }

    @Test mutating func aHoldThatFailsInTheWindowLeavesTheOther() {
        _ = hold(by: ":1.2")
        _ = hold(by: ":1.3")
        bench.take(.answered(id, .released, by: ":1.2"))
        #expect(bench.wait(.milliseconds(200)).banners.isEmpty)
        #expect(hold(by: ":1.2") == .suppressed, "it may hold it again")
    }

    @Test mutating func soManyAndNoMore() {
        for number in 1...16 { #expect(hold(by: ":2.\(number)") == .suppressed) }
        bench.take(.claimedProvisionally(id, within: .seconds(1), by: ":2.17"))
        guard case .failure(.limitExceeded(let text)) = bench.reply else {
            Issue.record("there is a limit")
            return
        }
        #expect(text.contains("16"))
        #expect(bench.take(.claimed(id, by: ":2.17")).outcomes == [id: .claimed])
    }
}
