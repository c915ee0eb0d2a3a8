import Testing

@testable import Routing

/// Every claim is told with what its claimant was answered, so that it can be kept.
struct ClaimStepTests {
    private static let late = ":1.9"

    private func steps(_ effects: [Effect]) -> [ClaimRecord] {
        effects.compactMap { if case .noteClaim(_, let record) = $0 { record } else { nil } }
    }

    private func record(_ form: ClaimForm) -> ClaimRecord {
        ClaimRecord(claimant: Self.late, latency: nil, form: form, verdict: .recorded)
    }

    @Test func aClaimOfADecidedEventIsAStep() {
        var bench = Bench()
        let id = bench.publish("/post/1")
        bench.take(.claimed(id, by: Bench.peer))
        #expect(steps(bench.take(.claimed(id, by: Self.late))) == [record(.claim)])
        let hold = bench.take(.claimedProvisionally(id, within: .seconds(1), by: Self.late))
        #expect(steps(hold) == [record(.provisional)])
    }

    @Test func aLateClaimHasTheVerdictThatItWasAnswered() {
        var bench = Bench()
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        let second = bench.publish("/post/1")
        let call = bench.wait(.milliseconds(100)).banners[0].call
        bench.take(.banner(call, .shown(BannerID(7))))
        let early = bench.take(.claimed(first, by: Bench.peer)).resolutions[first]
        #expect(early?.outcome == .retracted)
        #expect(early?.verdict == .recorded)
        #expect(bench.take(.claimed(second, by: Bench.peer)).resolutions[second]?.verdict == .retracted)
    }

    @Test func aClaimAfterTheBannerWentAwayIsOnlyRecorded() {
        var bench = Bench()
        bench.take(.server(.ready))
        let id = bench.publish("/post/1")
        let call = bench.wait(.milliseconds(100)).banners[0].call
        bench.take(.banner(call, .shown(BannerID(7))))
        bench.take(.bannerClosed(BannerID(7), .other))
        let resolution = bench.take(.claimed(id, by: Bench.peer)).resolutions[id]
        #expect(resolution?.outcome == .retracted)
        #expect(resolution?.verdict == .recorded)
    }
}
