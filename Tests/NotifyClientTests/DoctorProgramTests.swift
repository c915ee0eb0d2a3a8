import Testing
import Watching

@testable import notifyctl

extension DoctorCheckTests {
    @Test func aProgramThatWasReplacedIsToBeRestarted() {
        #expect(RunningProgram(name: "notifyd", process: 7).finding == nil)
        let unit = RunningProgram(name: "notifyd-mqtt", process: 7, isUnit: true, isReplaced: true)
        #expect(unit.finding?.advice == "Restart it: systemctl --user restart notifyd-mqtt")
        let other = RunningProgram(name: "notifyd-focus", process: 7, isReplaced: true)
        #expect(other.finding?.level == .warning && other.finding?.advice?.hasSuffix("kill 7") == true)
    }

    @Test func whatIsMaskedIsToBeAllowedAgain() {
        let bridge = BridgeCheck(absent: [AbsentBridge(name: "ntfy", isMasked: true)]).findings.first
        #expect(bridge?.state == "there is a configuration, but notifyd-ntfy is masked")
        #expect(bridge?.advice?.hasPrefix("Allow it again: systemctl --user unmask notifyd-ntfy") == true)
        let focus = FocusCheck(rules: .success(WindowRules()), unit: FocusUnit(isMasked: true)).findings.first
        #expect(focus?.advice?.hasPrefix("Allow it again: systemctl --user unmask notifyd-focus") == true)
    }

    @Test func whatAProgramSaysOfItselfIsCut() {
        let long = String(repeating: "a", count: 1 << 20)
        let lines = Finding.lines([.warning(long, long, long)])
        #expect(lines.count == 2 && lines.allSatisfy { $0.count < 2_100 && $0.hasSuffix("…") })
    }

    @Test func aProgramThatUsesANameOfNotifydsIsNamed() {
        var router = RouterCheck(isRunning: true, stranger: "squat (process 7)", process: 7)
        #expect(router.findings.first?.level == .problem)
        #expect(router.findings.first?.state.hasPrefix("squat (process 7) has the name org.notifyd.Router1") == true)
        router.hasBadConfiguration = true
        #expect(router.findings.first?.state == "it does not start: its configuration is bad")
        var bridge = BridgeInfo(name: "evil", [:])
        bridge.stranger = ("squat (process 7)", true)
        let named = BridgeCheck(bridges: [bridge]).findings.first
        #expect(named?.state.hasPrefix("squat (process 7) has the name org.notifyd.Bridge.evil") == true)
        bridge.stranger?.answers = false
        let silent = BridgeCheck(bridges: [bridge]).findings.first
        #expect(silent?.state == "on the bus, but it does not answer")
        #expect(silent?.advice?.contains("squat (process 7)") == true)
        let own = BridgeCheck(bridges: [BridgeInfo(name: "ntfy", [:])]).findings.first
        #expect(own?.advice == "Restart it: systemctl --user restart notifyd-ntfy")
    }

    @Test func aUnitThatIsRestartedAgainAndAgainIsAProblem() {
        var unit = UnitCheck(
            hasManager: true, loadState: "loaded", activeState: "activating",
            failure: UnitFailure(unit: "notifyd", result: "exit-code", exitStatus: 203), restarts: 2)
        #expect(unit.finding.level == .problem && unit.finding.state.hasPrefix("failed with 203"))
        unit.failure.result = "success"
        #expect(unit.finding.level == .ok)
    }

    @Test func focusThatHasFailedIsToldAlsoWithoutRules() {
        #expect(FocusCheck(unit: FocusUnit()).findings.isEmpty)
        let failed = FocusCheck(unit: FocusUnit(hasFailed: true)).findings
        #expect(failed.first?.state == "notifyd-focus does not run: it has failed")
    }
}
