import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Where the state is kept.
@Suite(.timeLimit(.minutes(1)))
struct StateDirectoryTests {
    @Test func aRelativeStateDirectoryIsRelativeToTheWorkingDirectory() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let command = ["sh", "-c", "cd '\(folder.path)'; exec \"$0\" --state some/where"]
        try await withFaultRig(through: command) { rig in
            _ = try await rig.send("/note/1")
            #expect(FileManager.default.fileExists(atPath: folder.path + "/some/where/index.db"))
            #expect(!FileManager.default.fileExists(atPath: "/some"))
        }
    }

    @Test func aJournalHasANameThatItKeeps() async throws {
        try await withFaultRig { rig in
            let name = try #require(try await rig.property("Device")?.string)
            #expect(name.count == 32 && name.allSatisfy { "0123456789abcdef".contains($0) })
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.property("Device")?.string == name)
            // A new journal is another one.
            await rig.daemon.kill()
            try FileManager.default.removeItem(atPath: rig.state)
            try await rig.daemon.start()
            #expect(try await rig.property("Device")?.string?.count == 32)
            #expect(try await rig.property("Device")?.string != name)
        }
    }

    @Test func aNewDeviceIsTakenWhileNotifydDoesNotRun() async throws {
        try await withFaultRig { rig in
            let name = try #require(try await rig.property("Device")?.string)
            let id = try await rig.send("/note/1")
            func take() async throws -> (exit: ChildProcess.Exit?, output: [String], errors: [String]) {
                let process = try ChildProcess(
                    BuiltPrograms.notifyd, ["--new-device"], environment: rig.daemon.environment, capturing: [1, 2])
                let exit = await process.waitForExit(within: .seconds(30))
                return (exit, await process.allLines(of: 1) ?? [], await process.allLines(of: 2) ?? [])
            }
            let refused = try await take()
            #expect(refused.exit == .code(69) && refused.output.isEmpty)
            #expect(refused.errors.first?.contains("Stop notifyd first") == true)
            #expect(try await rig.property("Device")?.string == name)
            await rig.daemon.stop()
            let taken = try await take()
            #expect(taken.exit == .code(0), "\(taken)")
            try await rig.daemon.start()
            let new = try await rig.property("Device")?.string
            #expect(taken.output == [new] && new != name && new?.count == 32)
            // What was published before keeps its global name.
            let client = try await NotifyClient(address: rig.bus.address)
            let event = try await client.journalChanges().changes.first { $0.kind == "event" && $0.id.rawValue == id }
            await client.close()
            #expect(event?.details["source"]?.string == "notifyd:" + name)
            #expect(event?.details["event-id"]?.string == "\(id)")
            await rig.daemon.stop()
            try FileManager.default.removeItem(atPath: rig.state)
            #expect(try await take().exit == .code(66))
            try await rig.daemon.start()
        }
    }

    @Test func aRelativeVariableIsIgnored() async throws {
        let name = "rel-\(UUID().uuidString)"
        try await withFaultRig(state: name) { rig in
            _ = try await rig.send("/note/1")
            #expect(FileManager.default.fileExists(atPath: rig.daemon.folder.path + "/.local/state/notifyd/index.db"))
            #expect(!FileManager.default.fileExists(atPath: "/" + name))
        }
    }
}
