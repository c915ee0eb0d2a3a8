import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Every scenario of `Tests/Scenarios` against the clock: a real daemon, a bus and a notification server of its own.
@Suite(.timeLimit(.minutes(5))) struct ScenarioTests {
    /// How much later than drawn something may come on a machine that is busy with other tests.
    private static let tolerance: Duration = .milliseconds(150)
    /// How much wider each attempt is drawn. A machine that stands still for 20 ms between a window's end and a claim
    /// looks like a daemon that is wrong; where every column is longer than that, it does not. A daemon that is wrong
    /// fails every attempt.
    private static let factors = [1, 1, 4]
    /// The last attempt, when nothing else is played.
    private static let lastFactor = 8
    /// They mostly wait, so a few can be played at once.
    private static let playedAtOnce = 3

    private static let files = ScenarioFiles.names.filter { name in
        (try? ScenarioFiles.read(name))?.settings.virtualOnly == nil
    }

    /// One test, not one for each file: the tests run one after the other.
    @Test func scenariosHold() async throws {
        let doubtful = try await withThrowingTaskGroup(of: String?.self) { group in
            var doubtful: [String] = []
            for (index, file) in Self.files.enumerated() {
                if index >= Self.playedAtOnce, let file = try await group.next() ?? nil { doubtful.append(file) }
                group.addTask { try await Self.holdsWithOthers(file) ? nil : file }
            }
            for try await case let file? in group { doubtful.append(file) }
            return doubtful
        }
        for file in doubtful {
            let (scenario, differences) = try await Self.play(file, wider: Self.lastFactor)
            for difference in differences { Issue.record("\(file): \(scenario.title)\n\(difference)") }
        }
    }

    private static func holdsWithOthers(_ file: String) async throws -> Bool {
        for factor in factors {
            do {
                let (_, differences) = try await play(file, wider: factor)
                guard let first = differences.first else { return true }
                print("\(file) is played again: \(first)")
            } catch let error as StageError {
                print("\(file) is played again: \(error)")
            }
        }
        return false
    }

    /// - Returns: what is otherwise than drawn.
    private static func play(_ file: String, wider: Int) async throws -> (Scenario, differences: [String]) {
        let factor = wider * Timeouts.factor
        let scenario = try ScenarioFiles.read(file).drawn(wider: factor)
        let recording = try await RealStage.play(scenario, BuiltPrograms.notifyd)
        let differences = Comparison.differences(
            between: scenario, and: recording, tolerance: tolerance * factor,
            seriesLimit: scenario.settings.realTimeEvents)
        if differences.isEmpty, let spread = scenario.spread(in: recording) {
            print("\(file): banners came \(spread) late")
        }
        return (scenario, differences.map { "\($0)" })
    }
}
