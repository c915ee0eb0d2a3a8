import ChildProcesses
import Foundation
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The daemon among real programs: notification servers, D-Bus tools, Python clients, systemd. The scripts in
/// `Rigs/` are the tests, and can be run by hand; here each becomes one test of the suite.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct RigTests {
    @Test func dunstShowsBannersAndClosesThemOnLateClaims() async throws {
        try await run("dunst.sh")
    }

    @Test func bannersInGNOMEShellOutliveARestart() async throws {
        try await run("gnome-shell.sh")
    }

    @Test func windowsOfGNOMEShellHoldScreens() async throws {
        try await run("focus-gnome.sh")
    }

    @Test func waybarShowsWhatIsUnread() async throws {
        try await run("waybar.sh")
    }

    @Test func bannersLookRightOnEveryServer() async throws {
        try await run("pictures.sh")
    }

    @Test func aServerThatFailsOrHangsDelaysNobody() async throws {
        try await run("dbusmock.sh")
    }

    @Test func everyKindOfSubscriberHearsAndPythonProgramsClaim() async throws {
        try await run("subscribers.sh")
    }

    @Test func whatNobodyClaimedWaitsForANotificationServer() async throws {
        try await run("restart-server.sh")
    }

    @Test func aLockedOrIdleSessionHasNobodyWhoLooks() async throws {
        try await run("logind.sh")
    }

    @Test func shellsCompleteTopicsAndIDsFromTheRunningDaemon() async throws {
        try await run("completions.sh")
    }

    @Test func rootSendsToOneUserOrToAll() async throws {
        try await run("users.sh")
    }

    @Test func theExamplesDoWhatTheySay() async throws {
        try await run("examples.sh")
    }

    @Test func theExamplesInCAndGJSGoOnAfterCrashes() async throws {
        try await run("examples-restarts.sh")
    }

    @Test func theExamplesForMailPhonesAndBrokersDoWhatTheySay() async throws {
        try await run("examples-bridges.sh")
    }

    @Test func thePythonPackageGoesOnAfterCrashes() async throws {
        try await run("python.sh")
    }

    @Test func theUnitRunsUnderAUserManager() async throws {
        try await run("systemd-user.sh")
    }

    @Test func aBadConfigurationIsToldToEveryCallerAtOnce() async throws {
        try await run("bad-configuration.sh")
    }

    @Test func whatTheUnitForbidsIsForbidden() async throws {
        try await run("sandbox.sh")
    }

    @Test func theUnitOfTheLinkRunsUnderAUserManager() async throws {
        try await run("mqtt.sh")
    }

    @Test func theTabInFrontOfChromiumHoldsItsScreen() async throws {
        try await run("chromium.sh")
    }

    @Test func theTabInFrontOfFirefoxHoldsItsScreen() async throws {
        try await run("firefox.sh")
    }

    @Test func theUnitOfTheWindowsRunsUnderAUserManager() async throws {
        try await run("focus.sh")
    }

    @Test func shellsReportLongCommandsThatNobodyLooksAt() async throws {
        try await run("shells.sh")
    }

    @Test func nothingIsLostOrDoubledBetweenNtfyAndNotifyd() async throws {
        try await run("ntfy.sh")
    }

    /// What a script answers when this machine lacks what it needs.
    private static let cannotRunHere: Int32 = 77

    private func run(_ script: String) async throws {
        let rigs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Rigs")
        let products = URL(filePath: BuiltPrograms.notifyd).deletingLastPathComponent()
        // Its output is the test runner's: one line for each fact.
        let rig = try ChildProcess(
            "/bin/bash", [rigs.appending(path: script).path, products.path],
            environment: ChildProcess.currentEnvironment)
        var exit = await rig.waitForExit(within: .seconds(230))
        if exit == nil { exit = await rig.end() }

        if exit == .code(Self.cannotRunHere) {
            let mustRun = ChildProcess.currentEnvironment["CI"] == "true"
            print("\(script) cannot run on this machine; its last line above says why")
            #expect(!mustRun, "\(script) cannot run here, and CI must run everything: see SKIPPED above")
            return
        }
        #expect(exit == .code(0), "\(script) ended otherwise: see FAILED above")
    }
}
