import NotifyTestSupport
import Testing

/// Every scenario of `Tests/Scenarios` in virtual time, against the router alone.
@Suite struct ScenarioTests {
    /// Without a file the tests below would be skipped, and nobody would notice.
    @Test func thereAreScenarios() {
        #expect(ScenarioFiles.names.count > 100)
    }

    @Test(arguments: ScenarioFiles.names)
    func scenarioHolds(_ file: String) throws {
        let scenario = try ScenarioFiles.read(file)
        let recording = try VirtualStage.play(scenario)
        let differences = Comparison.differences(between: scenario, and: recording)
        for difference in differences { Issue.record("\(scenario.title)\n\(difference)") }
    }

    @Test(arguments: ScenarioFiles.names)
    func scenarioIsPrintedAsItIsRead(_ file: String) throws {
        let scenario = try ScenarioFiles.read(file)
        #expect(try Scenario(parsing: scenario.description, file: file) == scenario)
    }
}
