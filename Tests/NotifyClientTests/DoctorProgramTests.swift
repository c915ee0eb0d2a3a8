import Testing

@testable import notifyctl

extension DoctorCheckTests {
    @Test func aProgramThatWasReplacedIsToBeRestarted() {
        #expect(RunningProgram(name: "notifyd", process: 7).finding == nil)
        let unit = RunningProgram(name: "notifyd-mqtt", process: 7, isUnit: true, isReplaced: true)
        #expect(unit.finding?.advice == "Restart it: systemctl --user restart notifyd-mqtt")
        let other = RunningProgram(name: "notifyd-focus", process: 7, isReplaced: true)
        #expect(other.finding?.level == .warning && other.finding?.advice?.hasSuffix("kill 7") == true)
    }

    @Test func aUnitThatIsRestartedAgainAndAgainIsAProblem() {
        var unit = UnitCheck(
            hasManager: true, loadState: "loaded", activeState: "activating", result: "exit-code", exitStatus: 203,
            restarts: 2)
        #expect(unit.finding.level == .problem && unit.finding.state.hasPrefix("failed with 203"))
        unit.result = "success"
        #expect(unit.finding.level == .ok)
    }

    @Test func focusThatHasFailedIsToldAlsoWithoutRules() {
        #expect(FocusCheck(unit: FocusUnit()).findings.isEmpty)
        let failed = FocusCheck(unit: FocusUnit(hasFailed: true)).findings
        #expect(failed.first?.state == "notifyd-focus does not run: it has failed")
    }
}
