import Foundation
import NotifyClient
import NotifyRehearsal
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
            #expect(FileManager.default.fileExists(atPath: folder.path + "/some/where/events.db"))
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

    @Test func aRelativeVariableIsIgnored() async throws {
        let name = "rel-\(UUID().uuidString)"
        try await withFaultRig(state: name) { rig in
            _ = try await rig.send("/note/1")
            #expect(FileManager.default.fileExists(atPath: rig.daemon.folder.path + "/.local/state/notifyd/events.db"))
            #expect(!FileManager.default.fileExists(atPath: "/" + name))
        }
    }
}
