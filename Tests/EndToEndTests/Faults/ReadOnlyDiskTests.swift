import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The state directory is mounted read-only, which not even root can write to.
@Suite(.timeLimit(.minutes(2)), .enabled(if: geteuid() == 0, "mounting needs root"))
struct ReadOnlyDiskTests {
    private let rig: FaultRig! = Fixture.current()

    /// Closes the state directory where a file `closed` is beside it.
    private static let disk = [
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

    /// The next start finds it writable.
    private func reopen(_ rig: FaultRig) throws {
        try FileManager.default.removeItem(
            at: URL(filePath: rig.state).deletingLastPathComponent().appending(path: "closed"))
    }

    /// Makes it writable for the daemon that runs.
    private func open(_ rig: FaultRig) async throws {
        let process = try #require(rig.daemon.identifier)
        let mount = try await ChildProcess.run(
            "nsenter", ["--mount=/proc/\(process)/ns/mnt", "mount", "-o", "remount,bind,rw", rig.state],
            environment: ["PATH": ChildProcess.path])
        #expect(mount.code == 0, "\(mount.errors)")
    }

    @Test(.faultRig(through: disk, isStarted: false)) func withoutAJournalTheDaemonSaysSoAndBeginsOneWhenItCan()
        async throws
    {
        try close(rig)
        try await rig.daemon.start()
        #expect(try await rig.degradation().contains("notifyd is on a file system that is mounted read-only"))
        try await rig.expectRefused()
        try await open(rig)
        try await rig.until("it can keep state") { try await rig.degradation() == "" }
        let id = try await rig.send("/note/1")
        #expect(try await rig.history().map(\.id) == [id])
    }

    @Test(.faultRig(through: disk), arguments: [false, true])
    func whatAnEarlierRunLeftIsDecidedAndWrittenWhenTheJournalCanBeWritten(_ isStoppedInOrder: Bool) async throws {
        let id = try await rig.publish("/note/1", "news", ["window": .uint32(60_000)])
        if isStoppedInOrder { await rig.daemon.stop() } else { await rig.daemon.kill() }
        try close(rig)
        try await rig.daemon.start()
        #expect(try await rig.degradation().contains("is on a file system that is mounted read-only"))
        try await rig.expectRefused()
        #expect(try await rig.replay(of: id) != nil)
        #expect(try await rig.claim(id) == "suppressed")
        #expect(try await rig.history().map(\.outcome) == ["claimed"])
        // It stays as it is for as long as nothing can be written.
        let retries = try await rig.statistic("journal-retries")
        try await rig.until("it has tried again") { try await rig.statistic("journal-retries") > retries }
        #expect(try await rig.history().map(\.outcome) == ["claimed"])
        try await open(rig)
        try await rig.until("it can keep state") { try await rig.degradation() == "" }
        let next = try await rig.send("/note/2")
        #expect(next > id)
        try reopen(rig)
        try await rig.daemon.restart()
        #expect(try await rig.outcome(of: id) == "claimed")
    }

    @Test(.faultRig(through: disk)) func laterClaimsAreExplainedBeforeTheyAreWrittenAsAfterwards() async throws {
        let id = try await rig.publish("/note/1", "news", ["window": .uint32(60_000)])
        #expect(try await rig.claim(id) == "suppressed")
        func record() async throws -> [String: Value] {
            try await rig.call("Explain", [.uint64(id)]).arguments.first?.entries ?? [:]
        }
        // The bus is asked for names after the claim.
        try await rig.until("the claimant has a name") { try await record()["programs"]?.entries?.count == 1 }
        await rig.daemon.stop()
        try close(rig)
        try await rig.daemon.start()
        #expect(try await rig.degradation() != "")
        let late = try await Connection.open(rig.bus.address)
        defer { late.close() }
        let claim = Message.toRouter("Claim", [.uint64(id)])
        #expect(try await late.call(claim).arguments.first?.string == "recorded")
        try await rig.until("both claimants have names") { try await record()["programs"]?.entries?.count == 2 }
        let early = try await record()
        #expect(early["claims"]?.elements?.count == 2)
        try await open(rig)
        try await rig.until("it can keep state") { try await rig.degradation() == "" }
        #expect(try await record() == early)
    }

    @Test(.faultRig(through: disk)) func aPauseAndAMuteOfABadTimeAreKept() async throws {
        _ = try await rig.send("/note/1")
        await rig.daemon.stop()
        try close(rig)
        try await rig.daemon.start()
        #expect(try await rig.degradation() != "")
        for command in [["mute", "/note", "1h"], ["pause", "1h"]] {
            let process = try ChildProcess(
                BuiltPrograms.notifyctl, command + ["--address", rig.bus.address], environment: [:], capturing: [2])
            #expect(await process.waitForExit(within: .seconds(20)) == .code(0))
            let complaint = await process.allLines(of: 2)?.first
            #expect(complaint?.contains(": this may not outlive a restart: the journal in") == true, "\(command)")
        }
        let quiet = try await rig.property("Quiet")
        try await open(rig)
        try await rig.until("it can keep state") { try await rig.degradation() == "" }
        // What is acknowledged now is on the disk, and so is what came before.
        _ = try await rig.send("/note/2")
        try reopen(rig)
        try await rig.daemon.restart()
        func topics(_ value: Value?) -> [String] {
            let list = value.map { if case .variant(let list) = $0 { list } else { $0 } }
            return list?.elements?.compactMap { $0.elements?.first?.string } ?? []
        }
        #expect(topics(quiet) == ["/", "/note"])
        #expect(topics(try await rig.property("Quiet")) == ["/", "/note"])
    }

    @Test func aFolderThatItsOwnerMayNotWriteIsNotCalledSomebodyElses() async throws {
        let command = [
            "setpriv", "--bounding-set=-dac_override,-dac_read_search",
            "--inh-caps=-dac_override,-dac_read_search", "sh", "-ec",
            "mkdir -p \"$XDG_STATE_HOME/notifyd\"; chmod 500 \"$XDG_STATE_HOME/notifyd\"; exec \"$0\"",
        ]
        try await withFaultRig(through: command) { rig in
            let words = try await rig.degradation()
            #expect(words.contains("\(rig.state) has the mode 500"))
            #expect(words.contains("chmod u+rwx"))
            #expect(!words.contains("belongs to"))
        }
    }

    /// What the unit's sandbox does with the state directory: everything around it is read-only, and it is a mount of
    /// its own.
    @Test func aStateDirectoryDeletedOutsideOfTheSandboxIsSaid() async throws {
        let command = [
            "unshare", "--mount", "--propagation", "slave", "sh", "-ec",
            """
            T="$XDG_STATE_HOME/notifyd"
            mkdir -p "$T"
            mount --bind "$XDG_STATE_HOME" "$XDG_STATE_HOME"
            mount --bind "$T" "$T"
            mount -o remount,bind,ro "$XDG_STATE_HOME"
            exec "$0"
            """,
        ]
        try await withFaultRig(through: command) { rig in
            let id = try await rig.publish("/note/1", "news", ["window": .uint32(60_000)])
            try FileManager.default.removeItem(atPath: rig.state)
            try await rig.expectRefused()
            try await rig.until("it says why") {
                try await rig.degradation().contains("mounted read-only; if it was deleted")
            }
            // What is in memory is still decided.
            #expect(try await rig.claim(id) == "suppressed")
            try FileManager.default.createDirectory(atPath: rig.state, withIntermediateDirectories: false)
            let retries = try await rig.statistic("journal-retries")
            try await rig.until("it has tried again") { try await rig.statistic("journal-retries") > retries + 1 }
            #expect(try await rig.degradation().contains("mounted read-only"))
            try await rig.daemon.restart(inOrder: true)
            #expect(try await rig.degradation() == "")
            _ = try await rig.send("/note/2")
        }
    }
}
