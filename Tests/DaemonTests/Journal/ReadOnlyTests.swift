import Foundation
import GRDB
import Glibc
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// A journal that cannot be written can be read.
struct ReadOnlyTests {
    private let folder = Fixture.folder

    private func ids(_ journal: Journal) throws -> [UInt64] {
        try journal.history(.all, after: EventID(0), limit: 100).map(\.id.rawValue)
    }

    /// Where the last of two events is.
    enum Place: CaseIterable { case log, logOfSQLite, index }

    /// The files of a journal, as a kill or an orderly end leaves them.
    private func withFiles(_ place: Place, _ body: (String) throws -> Void) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder + "/first")
            try journal.commit([.accepted(try sample(1))])
            try journal.fold()
            try journal.commit([.accepted(try sample(2))])
            switch place {
            case .log: break
            case .logOfSQLite: try journal.fold()
            case .index: journal.close()
            }
            try FileManager.default.copyItem(atPath: folder + "/first", toPath: folder + "/se?cond%")
            if place != .index { journal.close() }
            try body(folder + "/se?cond%")
        }
    }

    @Test(arguments: Place.allCases) func itIsReadWhereverItsEventsAreAndNothingChanges(_ place: Place) throws {
        try withFiles(place) { folder in
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
            let bytes = try files.map { try Data(contentsOf: URL(filePath: folder + "/" + $0)) }
            let journal = try Journal(readingIn: folder)
            #expect(!journal.isOpen && journal.isReadable)
            #expect(try ids(journal) == [1, 2])
            #expect(try journal.undecidedIDs() == [EventID(1), EventID(2)])
            #expect(try journal.event(EventID(2)) == sample(2) && journal.count == 2)
            #expect(throws: JournalError.self) { try journal.commit([.accepted(try sample(3))]) }
            #expect(try FileManager.default.subpathsOfDirectory(atPath: folder).sorted() == files)
            #expect(try files.map { try Data(contentsOf: URL(filePath: folder + "/" + $0)) } == bytes)
            _ = try journal.reopen()
            try journal.commit([.accepted(try sample(3))])
            #expect(try ids(journal) == [1, 2, 3])
            journal.close()
        }
    }

    @Test(.folder) func whereThereIsNothingToBeReadItSaysSo() throws {
        #expect(throws: JournalError.self) { try Journal(readingIn: folder) }
        try Data().write(to: URL(filePath: folder + "/index.db"))
        #expect(throws: JournalError.damaged) { try Journal(readingIn: folder) }
        try Data(repeating: 0x55, count: 50_000).write(to: URL(filePath: folder + "/index.db"))
        #expect(throws: JournalError.damaged) { try Journal(readingIn: folder) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["index.db"])
    }

    @Test(.folder) func afterACommitThatFailedEverythingBeforeItIsRead() throws {
        let disk = MadeUpDisk()
        let journal = try Journal(directory: folder, logDisk: { _ in disk })
        try journal.commit([.accepted(try sample(1))])
        disk.fault = { $0 == .sync ? .inputOutput : nil }
        #expect(throws: JournalError.inputOutput) { try journal.commit([.accepted(try sample(2))]) }
        #expect(!journal.isOpen && journal.isReadable)
        #expect(try ids(journal) == [1])
        journal.stopWriting()
        #expect(try ids(journal) == [1])
        journal.close()
        #expect(!journal.isReadable)
    }
}
