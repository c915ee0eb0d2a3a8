import ChildProcesses
import Foundation
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The daemon among real programs: notification servers, D-Bus tools, Python clients, systemd. The scripts in
/// `Rigs/` are the tests, and each can be run by hand.
@Suite(.timeLimit(.minutes(20)))
struct RigTests {
    /// What each script shows.
    private static let rigs: KeyValuePairs = [
        "dunst.sh": "dunst shows banners and closes them on late claims",
        "gnome-shell.sh": "banners in GNOME Shell outlive a restart",
        "firefox.sh": "the tab in front of Firefox holds its screen",
        "waybar.sh": "waybar shows what is unread",
        "pictures.sh": "banners look right on every server",
        "dbusmock.sh": "a server that fails or hangs delays nobody",
        "subscribers.sh": "every kind of subscriber hears, and Python programs claim",
        "restart-server.sh": "what nobody claimed waits for a notification server",
        "systemd-user.sh": "the unit runs under a user manager",
        "logind.sh": "a locked or idle session has nobody who looks",
        "focus-gnome.sh": "windows of GNOME Shell hold screens",
        "users.sh": "root sends to one user or to all",
        "examples.sh": "the examples do what they say",
        "examples-restarts.sh": "the examples in C and GJS go on after crashes",
        "examples-bridges.sh": "the examples for mail, phones and brokers do what they say",
        "bad-configuration.sh": "a bad configuration is told to every caller at once",
        "python.sh": "the Python package goes on after crashes",
        "sandbox.sh": "what the unit forbids is forbidden",
        "chromium.sh": "the tab in front of Chromium holds its screen",
        "mqtt.sh": "the unit of the link runs under a user manager",
        "completions.sh": "shells complete topics and ids from the running daemon",
        "focus.sh": "the unit of the windows runs under a user manager",
        "shells.sh": "shells report long commands that nobody looks at",
        "ntfy.sh": "nothing is lost or doubled between ntfy and notifyd",
    ]
    /// They mostly wait.
    private static let runAtOnce = 2

    /// One test, not one for each script: the tests run one after the other.
    @Test func theDaemonLivesAmongRealPrograms() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let skipped = ChildProcess.currentEnvironment["NOTIFYD_SKIPPED_RIGS"]?.split(separator: " ") ?? []
            for (index, rig) in Self.rigs.filter({ !skipped.contains(Substring($0.key)) }).enumerated() {
                if index >= Self.runAtOnce { try await group.next() }
                group.addTask { try await Self.run(rig.key, rig.value) }
            }
            try await group.waitForAll()
        }
    }

    /// What a script answers when this machine lacks what it needs.
    private static let cannotRunHere: Int32 = 77

    private static func run(_ script: String, _ fact: String) async throws {
        let rigs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Rigs")
        let products = URL(filePath: BuiltPrograms.notifyd).deletingLastPathComponent()
        // One line for each fact, with the name of the script.
        let command = #"bash "$1" "$2" 2>&1 | sed --unbuffered "s/^/${1##*/}: /""#
        var environment = ChildProcess.currentEnvironment
        // Two of them share the machine.
        environment["RIG_PATIENCE"] = environment["RIG_PATIENCE"] ?? "60"
        let rig = try ChildProcess(
            "/bin/bash", ["-o", "pipefail", "-c", command, "bash", rigs.appending(path: script).path, products.path],
            environment: environment)
        var exit = await rig.waitForExit(within: .seconds(300))
        if exit == nil { exit = await rig.end() }

        if exit == .code(Self.cannotRunHere) {
            let mustRun = ChildProcess.currentEnvironment["CI"] == "true"
            print("\(script) cannot run on this machine; its last line above says why")
            #expect(!mustRun, "\(script) cannot run here, and CI must run everything: see SKIPPED above")
            return
        }
        #expect(exit == .code(0), "\(script), \(fact): see FAILED above")
    }
}
