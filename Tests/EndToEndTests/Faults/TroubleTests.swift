import Foundation
import NotifyClient
import NotifyRehearsal
import Testing

/// The disk is full, broken or closed to us: nothing is acknowledged that is not there, and it mends by itself.
@Suite(.timeLimit(.minutes(2)))
struct TroubleTests {
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
            await rig.daemon.kill()
            try await rig.daemon.start()
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
            let removal = await #expect(throws: NotifyError.self) {
                try await rig.publish("/run/r1/mate/Mina", "", ["remove": true])
            }
            #expect(removal?.name == "org.notifyd.Router1.Error.StorageUnavailable")
        }
    }

    @Test func whereNoStateCanBeKeptTheDaemonSaysSoAndRecovers() async throws {
        try await withFaultRig(isStarted: false) { rig in
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
    }

    @Test func aNewerJournalIsLeftAlone() async throws {
        try await withFaultRig { rig in
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
}
