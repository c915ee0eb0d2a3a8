import Foundation
import GRDB
import Glibc
import Routing
import Testing

@testable import Journal

/// Files that are deleted, replaced or truncated while the journal has them open: nothing is committed that a restart would
/// not find.
struct LossTests {
    private let shown = StoredDecision(outcome: .shown, resolved: 5_000)

    /// A journal with a decided event 1, an undecided one 2, a current value 4 and the value 3 before it, and a removal 5.
    private func withJournal(_ body: (Journal, String) throws -> Void) throws {
        try withFolder { folder in
            let directory = folder + "/notifyd"
            let journal = try Journal(directory: directory)
            try journal.commit([
                .accepted(try sample(1)), .decided(EventID(1), shown), .accepted(try sample(2)),
                .accepted(try sample(3, topic: "/value", retained: true)), .decided(EventID(3), shown),
                .accepted(try sample(4, topic: "/value", retained: true)), .decided(EventID(4), shown),
                removal(Topic("/gone"), EventID(5), Origin(source: nil, eventID: nil), accepted: 1),
            ])
            try body(journal, directory)
        }
    }

    private func refuse(_ journal: Journal, _ id: UInt64) {
        let error = #expect(throws: JournalError.self) { try journal.commit([.accepted(try sample(id))]) }
        guard case .gone = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!journal.isOpen)
    }

    /// What another process finds by the name.
    private func found(_ journal: Journal) throws -> [UInt64] {
        journal.close()
        let next = try Journal(directory: journal.directory)
        defer { next.close() }
        #expect(next.setAside == nil)
        return try next.history(.all, after: EventID(0), limit: 100).map(\.id.rawValue)
    }

    @Test func whatWasPromisedIsWrittenIntoAFreshFile() throws {
        try withJournal { journal, directory in
            try FileManager.default.removeItem(atPath: directory)
            refuse(journal, 10)
            try journal.reopen(without: [EventID(10)])
            #expect(journal.takeLoss()?.carriedOver == 2)
            #expect(journal.takeLoss() == nil)
            #expect(try journal.undecided().map(\.id.rawValue) == [2])
            #expect(try journal.values(.all).map(\.id.rawValue) == [4])
            #expect(try journal.lastID() == EventID(5))
            try journal.commit([.accepted(try sample(11))])
            #expect(try found(journal) == [2, 4, 11])
        }
    }

    /// SQLite names the log after the file that a link leads to, so the next start does not find the log.
    @Test func aLinkInThePlaceOfTheFileIsAnotherFile() throws {
        try withJournal { journal, directory in
            let moved = directory + "/moved.db"
            try FileManager.default.moveItem(atPath: journal.path, toPath: moved)
            try FileManager.default.createSymbolicLink(atPath: journal.path, withDestinationPath: moved)
            refuse(journal, 10)
            try journal.reopen(without: [EventID(10)])
            try journal.commit([.accepted(try sample(11))])
            #expect(try found(journal) == [1, 2, 3, 4, 11])
        }
    }

    @Test func aJournalBehindALinkIsOneUntilTheLinkChanges() throws {
        try withFolder { folder in
            let directory = folder + "/notifyd"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let elsewhere = folder + "/elsewhere.db"
            try Data().write(to: URL(filePath: elsewhere))
            try FileManager.default.createSymbolicLink(
                atPath: directory + "/events.db", withDestinationPath: elsewhere)
            let journal = try Journal(directory: directory)
            try journal.commit([.accepted(try sample(1))])
            try journal.commit([.accepted(try sample(2))])
            try FileManager.default.removeItem(atPath: directory + "/events.db")
            try FileManager.default.createSymbolicLink(
                atPath: directory + "/events.db", withDestinationPath: folder + "/another.db")
            try Data().write(to: URL(filePath: folder + "/another.db"))
            refuse(journal, 10)
            try journal.reopen(without: [EventID(10)])
            #expect(try found(journal) == [1, 2])
        }
    }

    @Test func whatWasPromisedWaitsForTheAttemptThatSucceeds() throws {
        try withJournal { journal, directory in
            try FileManager.default.removeItem(atPath: directory)
            try Data().write(to: URL(filePath: directory))
            refuse(journal, 10)
            for _ in 1...3 { #expect(throws: JournalError.self) { try journal.reopen(without: [EventID(10)]) } }
            // Until then it is read where it is.
            #expect(try journal.history(.all, after: EventID(0), limit: 100).map(\.id.rawValue) == [1, 2, 3, 4])
            try FileManager.default.removeItem(atPath: directory)
            try journal.reopen(without: [EventID(10)])
            #expect(journal.takeLoss()?.carriedOver == 2)
            #expect(try found(journal) == [2, 4])
        }
    }

    @Test(arguments: ["", "-wal"]) func whatIsStillInMemoryOutlivesATruncation(_ suffix: String) throws {
        try withJournal { journal, directory in
            try #require(truncate(journal.path + suffix, 0) == 0)
            refuse(journal, 10)
            try journal.reopen(without: [EventID(10)])
            let loss = try #require(journal.takeLoss())
            #expect(loss.file == journal.path + suffix)
            #expect(try Set(found(journal)).isSuperset(of: [2, 4]))
        }
    }

    @Test func aTransactionThatReachedTheNamelessFileAloneIsRefusedToo() throws {
        try withJournal { journal, directory in
            let error = #expect(throws: JournalError.self) {
                try journal.write { db in
                    try db.execute(sql: "UPDATE event SET outcome = 0, decision_checksum = NULL WHERE id = 1")
                    try FileManager.default.removeItem(atPath: directory)
                }
            }
            guard case .gone = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            try journal.reopen(without: [EventID(1)])
            #expect(try found(journal) == [2, 4])
        }
    }

    @Test func aFolderThatIsBackIsUsedAsItIs() throws {
        try withJournal { journal, directory in
            try FileManager.default.moveItem(atPath: directory, toPath: directory + ".away")
            refuse(journal, 10)
            try FileManager.default.moveItem(atPath: directory + ".away", toPath: directory)
            try journal.reopen(without: [EventID(10)])
            #expect(journal.takeLoss() == nil)
            #expect(try found(journal) == [1, 2, 3, 4])
        }
    }

    @Test func aFolderThatWasMovedAwayIsCompleteWhereItIs() throws {
        try withJournal { journal, directory in
            try FileManager.default.moveItem(atPath: directory, toPath: directory + ".away")
            refuse(journal, 10)
            try journal.reopen(without: [EventID(10)])
            #expect(try found(journal) == [2, 4])
            #expect(try found(try Journal(directory: directory + ".away")) == [1, 2, 3, 4])
        }
    }

    @Test func anEarlierCopyIsGoneOnWith() throws {
        try withJournal { journal, directory in
            let copy = directory + ".copy"
            journal.close()
            try FileManager.default.copyItem(atPath: journal.path, toPath: copy)
            try journal.reopen(without: [])
            try journal.commit([.accepted(try sample(6))])
            try FileManager.default.removeItem(atPath: journal.path)
            try FileManager.default.moveItem(atPath: copy, toPath: journal.path)
            refuse(journal, 10)
            try journal.reopen(without: [EventID(10)])
            #expect(journal.takeLoss()?.carriedOver == 1)
            #expect(try found(journal) == [1, 2, 3, 4, 6])
        }
    }

    @Test func aLogThatIsDeletedAloneLosesNothing() throws {
        try withJournal { journal, _ in
            try FileManager.default.removeItem(atPath: journal.path + "-wal")
            refuse(journal, 10)
            try journal.reopen(without: [EventID(10)])
            #expect(try found(journal) == [1, 2, 3, 4])
        }
    }

    @Test func aLogThatIsReplacedIsNotRead() throws {
        try withJournal { journal, directory in
            let other = try Journal(directory: directory + ".other")
            try other.commit([.accepted(try sample(20))])
            try FileManager.default.removeItem(atPath: journal.path + "-wal")
            try FileManager.default.moveItem(atPath: other.path + "-wal", toPath: journal.path + "-wal")
            refuse(journal, 10)
            try journal.reopen(without: [EventID(10)])
            #expect(try found(journal) == [1, 2, 3, 4])
        }
    }

    @Test(arguments: ["", "-wal"]) func aTruncatedFileIsNotWrittenTo(_ suffix: String) throws {
        try withJournal { journal, _ in
            try #require(truncate(journal.path + suffix, 0) == 0)
            refuse(journal, 10)
            try journal.reopen(without: [EventID(10)])
            try journal.commit([.accepted(try sample(11))])
            #expect(try found(journal).contains(11))
        }
    }

    /// Programs that publish without a pause leave no moment without a transaction.
    @Test(arguments: ["truncated", "overwritten"])
    func whatHappensToTheFileDuringATransactionIsNoticedToo(_ damage: String) throws {
        try withJournal { journal, directory in
            let path = directory + "/events.db"
            let error = #expect(throws: JournalError.self) {
                try journal.write(isAcknowledged: true) { db in
                    try db.execute(sql: "UPDATE event SET outcome = outcome WHERE id = 2")
                    let file = try FileHandle(forUpdating: URL(filePath: path))
                    if damage == "truncated" {
                        try file.truncate(atOffset: 0)
                    } else {
                        try file.seek(toOffset: 8192)
                        try file.write(contentsOf: Data(repeating: 7, count: 8192))
                    }
                    try file.close()
                }
            }
            guard case .gone(let reason) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(reason.contains("events.db was \(damage)"))
            #expect(!journal.isOpen)
            try journal.reopen(without: [])
            try journal.commit([.accepted(try sample(11))])
            #expect(try found(journal).contains(11))
        }
    }

    /// Emptying the log into the file, and limiting it, is no loss.
    @Test func whatTheJournalDoesToItsFilesItselfIsNoLoss() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder, checkedWhenOpened: 0)
            for id in 1...2_500 as ClosedRange<UInt64> {
                var event = try sample(id)
                event.body = String(repeating: "x", count: 8_000)
                try journal.commit([.accepted(event), .decided(event.id, shown)])
            }
            try journal.endIntegrityCheck(IntegrityCheck(of: try journal.beginIntegrityCheck()))
            var count = 0
            while true {
                let step = try journal.expire(olderThan: .seconds(1), keeping: 0)
                count += step.count
                if step.isOver { break }
            }
            #expect(count > 2_000)
            try journal.commit([.accepted(try sample(3_000))])
            #expect(journal.isOpen)
        }
    }
}
