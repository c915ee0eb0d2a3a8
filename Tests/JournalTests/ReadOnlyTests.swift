import Foundation
import GRDB
import Glibc
import Routing
import Testing

@testable import Journal

/// A journal that cannot be written can be read.
struct ReadOnlyTests {
    private func ids(_ journal: Journal) throws -> [UInt64] {
        try journal.history(.all, after: EventID(0), limit: 100).map(\.id.rawValue)
    }

    /// The files of a journal with two events, as a kill or an orderly end leaves them.
    private func withFiles(inLog: Bool, _ body: (String) throws -> Void) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder + "/first")
            try journal.commit([.accepted(try sample(1)), .accepted(try sample(2))])
            if !inLog { journal.close() }
            try FileManager.default.copyItem(atPath: folder + "/first", toPath: folder + "/se?cond%")
            if inLog { journal.close() }
            try body(folder + "/se?cond%")
        }
    }

    @Test(arguments: [true, false]) func itIsReadWithALogAndWithoutOneAndNothingChanges(_ inLog: Bool) throws {
        try withFiles(inLog: inLog) { folder in
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
            let bytes = try files.map { try Data(contentsOf: URL(filePath: folder + "/" + $0)) }
            let journal = try Journal(readingIn: folder)
            #expect(!journal.isOpen && journal.isReadable)
            #expect(try ids(journal) == [1, 2])
            #expect(try journal.undecidedIDs() == [EventID(1), EventID(2)])
            #expect(throws: JournalError.self) { try journal.commit([.accepted(try sample(3))]) }
            #expect(try FileManager.default.subpathsOfDirectory(atPath: folder).sorted() == files)
            #expect(try files.map { try Data(contentsOf: URL(filePath: folder + "/" + $0)) } == bytes)
            try journal.reopen(without: [])
            try journal.commit([.accepted(try sample(3))])
            #expect(try ids(journal) == [1, 2, 3])
            journal.close()
        }
    }

    @Test func whereThereIsNothingToBeReadItSaysSo() throws {
        try withFolder { folder in
            #expect(throws: JournalError.self) { try Journal(readingIn: folder) }
            try Data().write(to: URL(filePath: folder + "/events.db"))
            #expect(throws: JournalError.damaged) { try Journal(readingIn: folder) }
            try Data(repeating: 0x55, count: 50_000).write(to: URL(filePath: folder + "/events.db"))
            #expect(throws: JournalError.damaged) { try Journal(readingIn: folder) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["events.db"])
        }
    }

    @Test func afterATransactionThatFailedEverythingBeforeItIsRead() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1))])
            #expect(throws: JournalError.self) {
                try journal.write { db in
                    try db.execute(sql: "DELETE FROM event")
                    throw JournalError.inputOutput
                }
            }
            #expect(!journal.isOpen && journal.isReadable)
            #expect(try ids(journal) == [1])
            journal.stopWriting()
            #expect(try ids(journal) == [1])
            journal.close()
            #expect(!journal.isReadable)
        }
    }

    /// A commit that failed may be in the file after all, and is taken out when the file can be written.
    @Test func whatWasRefusedIsNotRead() throws {
        try withFiles(inLog: true) { folder in
            let journal = try Journal(readingIn: folder)
            journal.readOnly(without: [EventID(3)])
            #expect(try ids(journal) == [1, 2])
            journal.readOnly(without: [EventID(2)])
            #expect(!journal.isReadable)
            try journal.reopen(without: [EventID(2)])
            #expect(try ids(journal) == [1])
            journal.close()
        }
    }
}
