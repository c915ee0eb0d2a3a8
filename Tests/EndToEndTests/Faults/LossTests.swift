import Foundation
import NotifyClient
import NotifyRehearsal
import Testing

/// Somebody deletes what the daemon has open.
@Suite(.timeLimit(.minutes(2)))
struct LossTests {
    @Test func whatIsAcknowledgedAfterTheStateDirectoryWasDeletedIsFoundByTheNextRun() async throws {
        try await withFaultRig { rig in
            let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
            let value = try await rig.publish("/run/r1/mate/Mina", "value", ["retain": true])
            try FileManager.default.removeItem(atPath: rig.state)
            let refusal = await #expect(throws: NotifyError.self) { try await rig.send("/note/0") }
            #expect(refusal?.name == "org.notifyd.Router1.Error.StorageUnavailable")
            #expect(try await rig.degradation().contains("was deleted or moved while notifyd had it open"))
            try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
            #expect(rig.daemon.log.contains("The journal was deleted or replaced while it was in use"))
            var ids = [open, value]
            for number in 1...5 { ids.append(try await rig.send("/note/\(number)", "\(number)")) }
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.history().map(\.id) == ids)
            #expect(try await rig.claim(open) == "suppressed")
            let snapshot = try await rig.call("Snapshot", ["/run"]).arguments
            #expect(snapshot[1].elements?.compactMap { FaultRig.Entry($0) }.map(\.id) == [value])
        }
    }

    @Test func aDirectoryThatCannotBeMadeAgainKeepsItDegraded() async throws {
        try await withFaultRig { rig in
            _ = try await rig.send("/note/0")
            try FileManager.default.removeItem(atPath: rig.state)
            try Data().write(to: URL(filePath: rig.state))
            try await rig.expectRefused()
            try await rig.until("it has tried again") { try await rig.statistic("journal-retries") >= 2 }
            try await rig.expectRefused()
            try FileManager.default.removeItem(atPath: rig.state)
            try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
            let id = try await rig.send("/note/1")
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.history().map(\.id) == [id])
        }
    }
}
