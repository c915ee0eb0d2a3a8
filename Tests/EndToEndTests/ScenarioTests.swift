import ChildProcesses
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Every scenario of `Tests/Scenarios` against the clock: a real daemon, a bus and a notification server of its own.
@Suite(.timeLimit(.minutes(5))) struct ScenarioTests {
    /// How much later than drawn something may come on a machine that is busy with other tests.
    private static let tolerance: Duration = .milliseconds(150) * Timeouts.factor
    /// An attempt whose own inputs came later than this proves nothing about the daemon.
    private static let inputTolerance: Duration = .milliseconds(8) * Timeouts.factor
    private static let attempts = 4
    /// They mostly wait, so a few can be played at once.
    private static let semaphore = AsyncSemaphore(4)

    private static let files = ScenarioFiles.names.filter { name in
        (try? ScenarioFiles.read(name))?.settings.virtualOnly == nil
    }

    @Test(arguments: files)
    func scenarioHolds(_ file: String) async throws {
        let scenario = try ScenarioFiles.read(file).withTimeoutFactor()
        try await Self.semaphore.withPermit {
            // The machine may stand still for 20 ms, between the window's end and a claim; it hardly does so twice in the same place.
            var isRepeated = false
            for attempt in 1... {
                let recording = try await RealStage.play(scenario, BuiltPrograms.notifyd)
                let differences = Comparison.differences(
                    between: scenario, and: recording, tolerance: Self.tolerance,
                    seriesLimit: scenario.settings.realTimeEvents)
                let isVoid = recording.faults.isEmpty && recording.inputLateness > Self.inputTolerance
                if !differences.isEmpty, isVoid, attempt < Self.attempts { continue }
                if !differences.isEmpty, !isRepeated {
                    isRepeated = true
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
