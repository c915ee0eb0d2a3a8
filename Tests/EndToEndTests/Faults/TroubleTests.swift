import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The disk is full, broken or closed to us: nothing is acknowledged that is not there, and it mends by itself.
@Suite(.timeLimit(.minutes(2)))
struct TroubleTests {
    private let rig: FaultRig! = Fixture.current()

    /// `Degraded` has changed, and everybody was told.
    private func expectTold(_ isDegraded: Bool, _ rig: FaultRig) async throws {
        let told = await rig.signals.next(within: FaultRig.patience) {
            guard $0.member == "PropertiesChanged", let text = $0.arguments[1].entries?["Degraded"]?.string else {
                return false
            }
            return text.isEmpty != isDegraded
        }
        #expect(told != nil)
    }

    @Test func aSyncThatFailsAcknowledgesNothingAndWhatWasAcceptedIsStillShown() async throws {
        let disk = try await FaultyDisk()
        let environment = disk.environment(keepsWhatIsSynced: false)
        try await withFaultRig(state: disk.home, environment: environment) { rig in
            try await rig.connection.addMatch(MatchRule(interface: "org.freedesktop.DBus.Properties"))
            let open = try await rig.publish("/note/1", "open", ["window": .uint32(500)])
            let claimed = try await rig.publish("/note/2", "claimed", ["window": .uint32(60_000)])
            try disk.breakDown()
            let named: [String: Value] = ["source": "test", "event-id": "1"]
            let refusal = await #expect(throws: NotifyError.self) {
                try await rig.publish("/note/3", "again", named)
            }
            #expect(refusal?.name == "org.notifyd.Router1.Error.StorageUnavailable")
            #expect(try await rig.degradation().contains("disk gives errors"))
            try await expectTold(true, rig)
            try await rig.expectRefused()
            // Where the file can be read, it says nothing of what was refused.
            #expect((try? await rig.history())?.map(\.id) ?? [open, claimed] == [open, claimed])
            #expect(try await rig.signal("Resolved", about: open).arguments[2] == "shown")
            #expect(try await rig.claim(claimed) == "suppressed")
            try disk.mend()
            // Those who ask all the time must not keep it from mending.
            try await rig.until("it is mended") {
                _ = try? await rig.history()
                return (try? await rig.send("/note/4", "after")) != nil
            }
            try await expectTold(false, rig)
            let id = try await rig.publish("/note/3", "again", named)
            _ = try await rig.signal("Resolved", about: id)
            let history = try await rig.history()
            #expect(history.filter { $0.title == "refused" }.isEmpty)
            #expect(history.filter { $0.title == "again" }.count == 1)
            #expect(history.first { $0.id == open }?.outcome == "shown")
            #expect(history.first { $0.id == claimed }?.outcome == "claimed")
            try await rig.daemon.restart()
            #expect(try await rig.history().filter { $0.title != "after" } == history.filter { $0.title != "after" })
        }
    }

    @Test func aValueWhoseSuccessorCouldNotBeKeptIsStillTheValue() async throws {
        let disk = try await FaultyDisk()
        let environment = disk.environment(keepsWhatIsSynced: false)
        try await withFaultRig(state: disk.home, environment: environment) { rig in
            let first = try await rig.publish("/run/r1/mate/Mina", "first", ["retain": true])
            try disk.breakDown()
            await #expect(throws: NotifyError.self) {
                try await rig.publish("/run/r1/mate/Mina", "second", ["retain": true])
            }
            try disk.mend()
            try await rig.until("it is mended") { try await rig.degradation() == "" }
            let before = try await rig.call("Snapshot", ["/run"]).arguments
            #expect(before[1].elements?.compactMap { FaultRig.Entry($0) }.map(\.id) == [first])
            _ = try await rig.publish("/run/r1/mate/Mina", "", ["remove": true])
            let after = try await rig.call("Snapshot", ["/run"]).arguments
            #expect(after[1].elements?.isEmpty == true)
            // Nor is a removal acknowledged that is not on disk.
            _ = try await rig.publish("/run/r1/mate/Mina", "third", ["retain": true])
            try disk.breakDown()
            let removal = await refusal { try await rig.publish("/run/r1/mate/Mina", "", ["remove": true]) }
            #expect(removal?.shortName == "StorageUnavailable")
        }
    }

    @Test(.faultRig(isStarted: false)) func whereNoStateCanBeKeptTheDaemonSaysSoAndRecovers() async throws {
        // Not even root can make a directory below a file.
        try Data().write(to: URL(filePath: rig.state))
        try await rig.daemon.start()
        #expect(try await rig.degradation().contains("is not a directory; move it away"))
        try await rig.expectRefused()
        try FileManager.default.removeItem(atPath: rig.state)
        try await rig.until("it can keep state") { try await rig.degradation() == "" }
        let id = try await rig.send("/note/1")
        _ = try await rig.signal("Resolved", about: id)
    }

    @Test(.faultRig) func aNewerJournalIsLeftAlone() async throws {
        _ = try await rig.send("/note/1", "before")
        await rig.daemon.stop()
        let file = URL(filePath: rig.state + "/index.db")
        var bytes = try Data(contentsOf: file)
        // `user_version`: https://www.sqlite.org/fileformat2.html#the_database_header
        bytes[63] = 99
        try bytes.write(to: file)
        try await rig.daemon.start()
        #expect(try await rig.degradation().contains("newer"))
        try await rig.expectRefused()
        await rig.daemon.stop()
        #expect(try Data(contentsOf: file) == bytes)
    }
}

/// The kernel itself says that a sync failed:
/// [fault injection of strace(1)](https://man7.org/linux/man-pages/man1/strace.1.html).
@Suite(.timeLimit(.minutes(2)), .enabled("strace may not trace here, or is not there") { await Tracing.isPossible })
struct InjectedErrorTests {
    /// It may be one of the index, or of a segment that is made ready: then nobody is refused.
    @Test(arguments: [5, 12, 13, 20])
    func aSyncThatFailsOnceCostsOneRefusalAtMostAndNothingElse(_ number: Int) async throws {
        let tracing = Tracing.command + ["-e", "inject=fdatasync:error=EIO:when=\(number)"]
        try await withFaultRig(through: tracing) { rig in
            var accepted: [UInt64] = []
            var refusal: NotifyError?
            while refusal == nil, accepted.count < 60 {
                do throws(NotifyError) {
                    let reply = try await rig.call("Send", ["/run/r1/mate/Mina", "accepted", ""])
                    accepted.append(reply.arguments[0].integer() ?? 0)
                } catch {
                    refusal = error
                }
            }
            if let refusal {
                #expect(refusal.name == "org.notifyd.Router1.Error.StorageUnavailable")
                #expect(refusal.message.contains("disk gives errors"))
            }
            try await rig.until("it goes on") { try await rig.degradation() == "" }
            accepted.append(try await rig.send("/run/r1/mate/Mina", "accepted"))
            #expect(try await rig.history().map(\.id) == accepted)
            try await rig.daemon.restart()
            #expect(try await rig.history().map(\.id) == accepted)
            #expect(try await rig.statistic("damaged-rows") == 0)
        }
    }
}

private enum Tracing {
    /// The tracer is not the parent of what it traces, so that the daemon is ours to kill.
    static let command = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync"]

    static var isPossible: Bool {
        get async {
            let environment = ["PATH": ChildProcess.path]
            let trial = try? ChildProcess("strace", ["-qq", "-o", "/dev/null", "true"], environment: environment)
            return await trial?.waitForExit(within: .seconds(10)) == .code(0)
        }
    }
}
