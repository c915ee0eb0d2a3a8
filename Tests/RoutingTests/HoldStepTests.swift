import Testing

@testable import Routing

/// Every step of a provisional claim is told, so that it can be kept.
struct HoldStepTests {
    private static let holder = ":1.9"

    private func steps(_ effects: [Effect]) -> [ClaimRecord] {
        effects.compactMap { if case .noteClaim(_, let record) = $0 { record } else { nil } }
    }

    private func held() -> (bench: Bench, id: EventID) {
        var bench = Bench()
        let id = bench.publish("/post/1")
        bench.pass(.milliseconds(10))
        bench.take(.claimedProvisionally(id, within: .milliseconds(30), by: Self.holder))
        return (bench, id)
    }

    private func record(_ form: ClaimForm, after time: Int64, _ verdict: Verdict = .recorded) -> ClaimRecord {
        ClaimRecord(claimant: Self.holder, latency: .milliseconds(time), form: form, verdict: verdict)
    }

    @Test func aConfirmationIsAStep() {
        var (bench, id) = held()
        bench.pass(.milliseconds(5))
        let effects = bench.take(.answered(id, .completed, by: Self.holder))
        #expect(steps(effects) == [record(.completed, after: 15, .suppressed)])
        #expect(effects.outcomes == [id: .claimed])
    }

    @Test func aReleaseIsAStep() {
        var (bench, id) = held()
        bench.pass(.milliseconds(5))
        #expect(steps(bench.take(.answered(id, .released, by: Self.holder))) == [record(.released, after: 15)])
    }

    @Test func runningOutOfTimeIsAStep() {
        var (bench, _) = held()
        #expect(steps(bench.wait(.milliseconds(30))) == [record(.ranOut, after: 40)])
    }

    @Test func leavingIsAStep() {
        var (bench, _) = held()
        bench.pass(.milliseconds(20))
        #expect(steps(bench.take(.peer(Self.holder, .left))) == [record(.left, after: 30)])
    }
}
