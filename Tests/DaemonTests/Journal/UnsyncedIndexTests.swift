import Foundation
import GRDB
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// The kernel reports once that it could not write something, and takes it for written afterwards.
struct UnsyncedIndexTests {
    private let shown = StoredDecision(outcome: .shown, resolved: 5_000)

    private func withDisk(_ body: (MadeUpDisk, () throws(JournalError) -> Journal) throws -> Void) throws {
        try withFolder { folder in
            let disk = MadeUpDisk()
            MadeUpFiles.put(disk, inPlaceOf: folder)
            defer { MadeUpFiles.put(nil, inPlaceOf: folder) }
            try body(disk) { () throws(JournalError) in try Journal(directory: folder, logDisk: { _ in disk }) }
        }
    }

    private func commit(_ ids: ClosedRange<UInt64>, _ text: String, to journal: Journal) throws {
        for id in ids {
            var event = try sample(id)
            event.body = String(repeating: text, count: 1_500)
            try journal.commit([.accepted(event), .decided(EventID(id), shown)])
        }
        try journal.fold()
    }

    /// Fails the next sync of a file. The disk has half of what was to be synced, and the next sync reports nothing.
    private func failNextSync(of file: String, on disk: MadeUpDisk) {
        disk.fault = { [unowned disk] call in
            guard call == .sync, disk.file == file else { return nil }
            disk.fault = { _ in nil }
            return .inputOutput
        }
    }

    /// The power goes at each call of the checkpoint after the one that failed.
    @Test(arguments: ["index.db-wal", "index.db"]) func aFailedSyncIsNotBelievedWhenItIsRepeated(_ file: String) throws
    {
        for cut in 1...60 {
            try withDisk { disk, open in
                let journal = try open()
                try journal.probe()
                try commit(1...30, "a", to: journal)
                try journal.checkpoint()
                try commit(31...60, "b", to: journal)
                failNextSync(of: file, on: disk)
                #expect(throws: JournalError.inputOutput) { try journal.checkpoint() }
                if journal.indexFailure != nil { _ = try journal.reopen() }
                #expect(journal.acceptsEvents)
                disk.lastCall = disk.calls + cut
                _ = try? journal.checkpoint()
                disk.end()
                journal.closeAll()
                disk.cutPower { $0 % 2 == 0 }
                let next = try open()
                #expect(next.setAside == nil && next.damagedRows == 0, "cut \(cut)")
                let ids = try next.history(.all, after: EventID(0), limit: 100).map(\.id.rawValue)
                #expect(ids == Array(1...60), "cut \(cut)")
            }
        }
    }

    @Test func untilItIsOpenedAgainTheIndexIsReadAndTheLogIsWritten() throws {
        try withDisk { disk, open in
            let journal = try open()
            try commit(1...10, "a", to: journal)
            disk.fault = { [unowned disk] in
                ($0 == .sync || $0 == .write) && disk.file.hasPrefix("index") ? .inputOutput : nil
            }
            #expect(throws: JournalError.inputOutput) { try journal.checkpoint() }
            for _ in 1...3 {
                #expect(journal.isOpen && !journal.acceptsEvents && journal.needsReopening)
                #expect(try journal.event(EventID(3))?.decision == shown)
                try journal.commit([.read(EventID(3), by: ":1.1", at: 1)])
                #expect(try journal.state(of: EventID(3))?.isMarkedRead == true)
                _ = try journal.reopen()
            }
            disk.fault = { _ in nil }
            #expect(try journal.reopen())
            try journal.probe()
            try journal.checkpoint()
            #expect(journal.acceptsEvents && !journal.needsReopening && journal.count == 10)
        }
    }

    /// A large write-ahead log is written to the index when nobody waits, and only there an error is seen.
    @Test func theIndexIsWrittenInIdleTime() throws {
        try withDisk { disk, open in
            let journal = try open()
            try commit(1...900, "a", to: journal)
            disk.fault = { [unowned disk] in $0 == .sync && disk.file == "index.db" ? .inputOutput : nil }
            #expect(throws: JournalError.inputOutput) { while try journal.work() != nil {} }
            #expect(journal.indexFailure == .inputOutput)
        }
    }

    @Test func whatWasForgottenIsNotOnTheDiskThoughASyncFailed() throws {
        try withDisk { disk, open in
            let journal = try open()
            try commit(1...40, "a", to: journal)
            try commit(41...41, "secret", to: journal)
            try commit(42...80, "b", to: journal)
            try journal.checkpoint()
            func forget() throws {
                _ = try journal.forget(.all, after: .init(before: .all), upTo: EventID(60), limit: 100)
                while try !journal.scrub() {}
            }
            _ = try journal.forget(.all, after: .init(before: .all), upTo: EventID(60), limit: 100)
            try journal.fold()
            try journal.checkpoint()
            failNextSync(of: "index.db", on: disk)
            #expect(throws: JournalError.inputOutput) { try forget() }
            _ = try journal.reopen()
            try forget()
            disk.end()
            journal.closeAll()
            disk.cutPower { _ in false }
            for file in disk.files {
                #expect(Data(disk[file] ?? []).range(of: Data("secretsecret".utf8)) == nil, "\(file)")
            }
        }
    }

    /// Another program has taken what was free, and the log has no segment to spare.
    @Test func onADiskThatIsFullTheIndexHasRoomForADeletion() throws {
        try withDisk { disk, open in
            var journal = try open()
            try commit(1...200, "a", to: journal)
            while try journal.work() == .zero {}
            journal.close()
            journal = try open()
            try journal.probe()
            while try journal.work() == .zero {}
            while journal.log?.releaseSpare() == true {}
            disk.space = disk.used
            var position: Journal.UnreadPosition? = .init(before: .all)
            while let next = position {
                position = try journal.forget(.all, after: next, upTo: EventID(150), limit: 100).position
            }
            while try !journal.scrub() {}
            #expect(journal.count == 50)
        }
    }
}
