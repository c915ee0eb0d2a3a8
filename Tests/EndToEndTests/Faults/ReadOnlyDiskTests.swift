import Foundation
import NotifyClient
import NotifyRehearsal
import Testing

/// The state directory is mounted read-only, which not even root can write to.
@Suite(.timeLimit(.minutes(2)), .enabled(if: geteuid() == 0, "mounting needs root"))
struct ReadOnlyDiskTests {
    /// Closes the state directory where a file `closed` is beside it.
    private let disk = [
        "unshare", "--mount", "sh", "-ec",
        """
        T="$XDG_STATE_HOME/notifyd"
        if [ -e "$XDG_STATE_HOME/closed" ]
        then
            mkdir -p "$T"
            mount --bind "$T" "$T"
            mount -o remount,bind,ro "$T"
        fi
        exec "$0"
        """,
    ]

    private func close(_ rig: FaultRig) throws {
        try Data().write(to: URL(filePath: rig.state).deletingLastPathComponent().appending(path: "closed"))
    }

    /// Makes it writable for the daemon that runs.
    private func open(_ rig: FaultRig) async throws {
        let process = try #require(rig.daemon.identifier)
        let mount = try ChildProcess(
            "nsenter", ["--mount=/proc/\(process)/ns/mnt", "mount", "-o", "remount,bind,rw", rig.state],
            environment: ["PATH": ChildProcess.currentEnvironment["PATH"] ?? "/usr/bin:/bin"], capturing: [2])
        let exit = await mount.waitForExit(within: .seconds(10))
        #expect(exit == .code(0), "\(mount.lines(of: 2).all)")
    }

    @Test func withoutAJournalTheDaemonSaysSoAndBeginsOneWhenItCan() async throws {
        try await withFaultRig(through: disk, isStarted: false) { rig in
            try close(rig)
            try await rig.daemon.start()
            #expect(try await rig.degradation().contains("state directory cannot be written"))
            try await rig.expectRefused()
            try await open(rig)
            try await rig.until("it can keep state") { try await rig.degradation() == "" }
            let id = try await rig.send("/note/1")
            #expect(try await rig.history().map(\.id) == [id])
        }
    }

    @Test func whatAnEarlierRunLeftWaitsUntilTheJournalCanBeWritten() async throws {
        try await withFaultRig(through: disk) { rig in
            let id = try await rig.publish("/note/1", "news", ["window": .uint32(60_000)])
            await rig.daemon.kill()
            try close(rig)
            try await rig.daemon.start()
            try await rig.until("it says why") { try await rig.degradation().contains("cannot be written") }
            try await rig.expectRefused()
            try await open(rig)
            try await rig.until("it can keep state") { try await rig.degradation() == "" }
            #expect(try await rig.replay(of: id) != nil)
            #expect(try await rig.claim(id) == "suppressed")
            let next = try await rig.send("/note/2")
            #expect(next > id)
        }
    }
}
