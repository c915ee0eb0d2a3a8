import ChildProcesses
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Every scenario of `Tests/Scenarios` against the clock: a real daemon, a bus and a notification server of its own.
@Suite(.timeLimit(.minutes(5))) struct ScenarioTests {
    /// How much later than drawn something may come on a machine that is busy with other tests.
    private static let tolerance: Duration = .milliseconds(150)
    /// How much wider each attempt is drawn. A machine that stands still for 20 ms between a window's end and a claim looks like a
    /// daemon that is wrong; where every column is longer than that, it does not. A daemon that is wrong fails every attempt.
    private static let factors = [1, 1, 4, 8]
    /// They mostly wait, so a few can be played at once.
    private static let semaphore = AsyncSemaphore(4)

    private static let files = ScenarioFiles.names.filter { name in
        (try? ScenarioFiles.read(name))?.settings.virtualOnly == nil
    }

    @Test(arguments: files)
    func scenarioHolds(_ file: String) async throws {
        let drawn = try ScenarioFiles.read(file)
        try await Self.semaphore.withPermit {
            for (attempt, factor) in Self.factors.map({ $0 * Timeouts.factor }).enumerated() {
                let isLast = attempt == Self.factors.count - 1
                let scenario = try drawn.drawn(wider: factor)
                let recording: Recording
                do {
                    recording = try await RealStage.play(scenario, BuiltPrograms.notifyd)
                } catch let error as StageError where !isLast {
                    print("\(file) is played again: \(error)")
                    continue
                }
                let differences = Comparison.differences(
                    between: scenario, and: recording, tolerance: Self.tolerance * factor,
                    seriesLimit: scenario.settings.realTimeEvents)
                if !differences.isEmpty, !isLast {
                    print("\(file) is played again: \(differences[0])")
                    continue
                }
                for difference in differences { Issue.record("\(scenario.title)\n\(difference)") }
                if let spread = scenario.spread(in: recording) { print("\(file): banners came \(spread) late") }
                return
            }
        }
    }
}
