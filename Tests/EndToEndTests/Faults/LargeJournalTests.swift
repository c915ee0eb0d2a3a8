import Foundation
import NotifyRehearsal
import Testing

/// A journal that is too large to be looked at before anybody is answered.
@Suite(.timeLimit(.minutes(2)))
struct LargeJournalTests {
    private func withLargeJournal(
        _ change: (inout Data) -> Void = { _ in }, _ body: (FaultRig, [UInt64]) async throws -> Void
    ) async throws {
        try await withFaultRig(isStarted: false) { rig in
            let ids = try rig.writeBacklog(of: 1_500, bodyBytes: 8_000)
            let url = URL(filePath: rig.state + "/index.db")
            var file = try Data(contentsOf: url)
            change(&file)
            try file.write(to: url)
            try await rig.daemon.start()
            try await body(rig, ids)
        }
    }

    @Test func itsEventsAreCountedAndNothingIsSaidWhenItIsSound() async throws {
        try await withLargeJournal { rig, ids in
            let id = try await rig.send("/note/1")
            try await rig.until("all events are counted") {
                try await rig.statistic("stored-events") == UInt64(ids.count + 1)
            }
            #expect(try await rig.degradation() == "")
            #expect(try await rig.history("/note").map(\.id) == [id])
            #expect(!rig.daemon.log.contains("Nobody could look"))
        }
    }

    @Test func damageFarFromEverythingThatIsReadIsFound() async throws {
        try await withLargeJournal {
            // A page of somebody's long body: only who follows the whole chain sees it.
            let middle = $0.count / 4096 / 2 * 4096
            $0.replaceSubrange(middle..<middle + 4096, with: Data(repeating: 0xFF, count: 4096))
        } _: { rig, ids in
            try await rig.until("the file is set aside") {
                try FileManager.default.contentsOfDirectory(atPath: rig.state).contains { $0.contains(".damaged-") }
            }
            try await rig.until("it goes on") { try await rig.degradation() == "" }
            let id = try await rig.send("/note/1")
            #expect(id > ids.last!)
            #expect(rig.daemon.log.contains("set aside"))
        }
    }
}
