import Foundation
import GRDB
import NotifyRehearsal
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// A large journal is in use before the whole file has been looked at.
struct IntegrityCheckTests {
    private let folder = Fixture.folder

    private func large(_ folder: String) throws -> Journal {
        try Journal(directory: folder, checkedWhenOpened: 0)
    }

    @Test(arguments: [IntegrityCheck.sound(events: 0), .sound(events: 1_000_000), .damaged, .failed])
    func whatOneProcessSaysAnotherUnderstands(_ examination: IntegrityCheck) {
        #expect(IntegrityCheck("\(examination)") == examination)
    }

    @Test(arguments: ["", "sound", "sound -1", "sound many", "sound 1 2", "damaged 1", "killed"])
    func nothingElseIsUnderstood(_ words: String) {
        #expect(IntegrityCheck(words) == nil)
    }

    @Test(.history()) func theFileHoldsStillWhileItIsLookedAt() throws {
        let journal = try large(folder)
        #expect(!journal.isChecked)
        try journal.commit([.accepted(try sample(1_000))])
        let file = try journal.beginIntegrityCheck()
        let before = try Data(contentsOf: URL(filePath: file))
        // More than what would be carried into the file otherwise.
        for id in 2_000..<2_100 as Range<UInt64> {
            var event = try sample(id)
            event.body = String(repeating: "x", count: 64 << 10)
            try journal.commit([.accepted(event)])
        }
        #expect(try journal.expire(olderThan: .seconds(1), keeping: 291, step: 10).count == 10)
        #expect(try Data(contentsOf: URL(filePath: file)) == before)
        let result = IntegrityCheck(of: file)
        #expect(result == .sound(events: 201))
        try journal.endIntegrityCheck(result)
        #expect(journal.isChecked)
        #expect(journal.count == 291)
        try journal.checkpoint()
        #expect(try Data(contentsOf: URL(filePath: file)) != before)
    }

    @Test(.history()) func howManyEventsThereAreIsKnownBeforeTheFileIsLookedAt() throws {
        let journal = try large(folder)
        #expect(!journal.isChecked && journal.count == 200)
        try journal.commit([.accepted(try sample(1_000))])
        // It is killed, and has written nothing down.
        let copy = folder + "/copy"
        try copyOfJournal(in: folder, to: copy)
        let next = try large(copy)
        #expect(!next.isChecked && next.count == 201)
        try next.endIntegrityCheck(IntegrityCheck(of: try next.beginIntegrityCheck()))
        #expect(next.isChecked && next.count == 201)
    }

    @Test(.history()) func anExaminationThatTakesTooLongIsGivenUpForTheLog() throws {
        let journal = try large(folder)
        let file = try journal.beginIntegrityCheck()
        let before = try Data(contentsOf: URL(filePath: file))
        var written: UInt64 = 0
        while try Data(contentsOf: URL(filePath: file)) == before, written < 2_000 {
            written += 1
            var event = try sample(1_000 + written)
            event.body = String(repeating: "x", count: 256 << 10)
            try journal.commit([.accepted(event)])
        }
        // As long as the log had a segment to write to.
        let size = Int(written) * 256 << 10
        #expect((2 * journal.disk.segmentBytes...4 * journal.disk.segmentBytes).contains(size))
        #expect(journal.count == 200 + Int(written))
        // The file has changed while it was looked at.
        try journal.endIntegrityCheck(.damaged)
        #expect(journal.isOpen)
        #expect(!journal.isChecked)
        try journal.endIntegrityCheck(IntegrityCheck(of: try journal.beginIntegrityCheck()))
        #expect(journal.isChecked)
        #expect(journal.count == 200 + Int(written))
    }

    @Test(.history(of: 3)) func aPathMayHoldWhatMeansSomethingInAURI() throws {
        let odd = folder + "/50% of #1?mode=x"
        try FileManager.default.createDirectory(atPath: odd, withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: folder + "/index.db", toPath: odd + "/index.db")
        #expect(IntegrityCheck(of: odd + "/index.db") == .sound(events: 3))
    }

    @Test(.history()) func whereNobodyCouldLookTheEventsAreCounted() throws {
        #expect(IntegrityCheck(of: folder + "/missing") == .failed)
        let journal = try large(folder)
        _ = try journal.beginIntegrityCheck()
        try journal.commit([.accepted(try sample(1_000))])
        try journal.endIntegrityCheck(.failed)
        #expect(journal.isChecked)
        #expect(journal.count == 201)
    }

    @Test(.history()) func aResultOfTheFileAsItWasIsNotForTheFileAsItIs() throws {
        let journal = try large(folder)
        _ = try journal.beginIntegrityCheck()
        journal.abandon()
        _ = try journal.reopen()
        try journal.endIntegrityCheck(.damaged)
        #expect(journal.isOpen && !journal.isChecked)
        #expect(try journal.history(.all, after: EventID(0), limit: 1_000).count == 200)
    }

    @Test(.history()) func aDamagedIndexIsMadeAnewWhenTheFileIsOpenedAgain() throws {
        let journal = try large(folder)
        try journal.write { db in
            try db.execute(
                sql: """
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_master SET sql = replace(sql, 'outcome BETWEEN 1 AND 9', \
                    'outcome BETWEEN 2 AND 9')
                        WHERE name = 'event_unread';
                    PRAGMA writable_schema = RESET;
                    REINDEX event_unread;
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_master SET sql = replace(sql, 'outcome BETWEEN 2 AND 9', \
                    'outcome BETWEEN 1 AND 9')
                        WHERE name = 'event_unread';
                    PRAGMA writable_schema = RESET;
                    """)
        }
        #expect(try journal.unread(.all) == 0)
        let result = IntegrityCheck(of: try journal.beginIntegrityCheck())
        #expect(result == .damaged)
        #expect(throws: JournalError.damaged) { try journal.endIntegrityCheck(result) }
        #expect(!journal.isOpen)
        _ = try journal.reopen()
        #expect(journal.setAside?.reason == .damaged)
        #expect(try journal.unread(.all) == 200)
    }

    @Test(.history()) func pagesThatCannotBeReadHaveTheFileSetAside() throws {
        let url = URL(filePath: folder + "/index.db")
        var file = try Data(contentsOf: url)
        // The first page says what there is; everything else is gone.
        file.replaceSubrange(4096..<file.count, with: Data(count: file.count - 4096))
        try file.write(to: url)
        let journal = try? large(folder)
        guard let journal, journal.setAside == nil else { return }
        #expect(throws: JournalError.damaged) { try journal.history(.all, after: EventID(0), limit: 10) }
        #expect(!journal.isOpen)
        _ = try journal.reopen()
        #expect(journal.setAside != nil)
    }

    /// What is asked at every start, or by any call, must not take longer the longer the history is.
    @Test(.history(of: 3)) func nothingLooksAtTheWholeHistory() throws {
        let journal = try Journal(directory: folder)
        let queries = [
            "SELECT id \(Journal.undecidedRows)", "SELECT id \(Journal.values)", Journal.tooOldQuery,
            Journal.shownQuery, Journal.lastShownQuery, Journal.acceptedQuery, Journal.decidedQuery,
            Journal.eventsOfTopic("*", Journal.decidedIndex),
            Journal.eventsOfTopic(Journal.forgettingColumns, Journal.topicIndex),
        ]
        let indexes = [Journal.undecidedIndex, Journal.decidedIndex, Journal.topicIndex]
        for query in queries + indexes.flatMap({ [Journal.eventsOfTopic("id", $0), Journal.nextTopic($0)] }) {
            let plan = try journal.read { db in
                try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + query.replacing(/\?\d?/, with: "0"))
                    .map { $0["detail"] as String }
            }
            #expect(!plan.contains { $0.hasPrefix("SCAN event") && !$0.contains("INDEX") }, "\(query): \(plan)")
        }
    }

    @Test(.history(of: 400)) func manyDamagedRowsAreNotAllReadForTheLastID() throws {
        let journal = try Journal(directory: folder)
        try journal.damage("event", where: "id > 100")
        let last = try journal.lastID()
        #expect(journal.damagedRows == 100)
        #expect(last == EventID(301))
    }
}

extension Trait where Self == Fixture {
    /// A folder with a journal of so many decided events, which was closed.
    fileprivate static func history(of count: UInt64 = 200) -> Self {
        Fixture { (body: (String) async throws -> Void) in
            let folder = try TemporaryFolder()
            let journal = try Journal(directory: folder.path)
            for id in 1...count {
                try journal.commit([
                    .accepted(try sample(id)),
                    .decided(EventID(id), StoredDecision(outcome: .shown, resolved: 5_000)),
                ])
            }
            journal.close()
            try await body(folder.path)
            folder.remove()
        }
    }
}
