import NotifyTestSupport
import Testing

/// Random publications, claims, users and servers: whatever happens, the promises hold.
@Suite struct RandomScenarioTests {
    private static let length = 300

    @Test func noPromiseIsBrokenWhateverHappens() throws {
        var seeds = SystemRandomNumberGenerator()
        // The first are the same in every run, the others are new each time.
        let all = (0..<UInt64(Self.length)).map(\.self) + (0..<Self.length).map { _ in seeds.next() >> 16 }
        for seed in all {
            let scenario = Scenario.random(seed: seed)
            let recording = try VirtualStage.play(scenario, isForgiving: true)
            if !recording.faults.isEmpty {
                Issue.record("\(recording.faults.joined(separator: "\n"))\n\(scenario)")
                return
            }
        }
    }

    @Test func aSeedIsReplayedExactly() throws {
        let first = try VirtualStage.play(Scenario.random(seed: 7), isForgiving: true)
        let second = try VirtualStage.play(Scenario.random(seed: 7), isForgiving: true)
        #expect(first.happenings == second.happenings)
        #expect(first.answers == second.answers)
        #expect(!first.happenings.isEmpty)
    }
}
