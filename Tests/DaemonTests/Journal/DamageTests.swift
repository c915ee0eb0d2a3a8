import Foundation
import GRDB
import Glibc
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// Files that are broken in bigger ways: never a crash, and never a silent loss.
struct DamageTests {
    private let folder = Fixture.folder

    /// - Parameter isLogGone: whether only the index is left.
    private func damaged(
        isLogGone: Bool = false, _ change: (inout Data) -> Void, _ check: (Journal) throws -> Void
    ) throws {
        try withFolder { folder in
            let events = try (1...200).map { try sample($0) }
            do {
                let journal = try Journal(directory: folder)
                try journal.commit(events.map { .accepted($0) })
                journal.close()
            }
            let url = URL(filePath: folder + "/index.db")
            var file = try Data(contentsOf: url)
            change(&file)
            try file.write(to: url)
            if isLogGone {
                for name in try files(in: folder) where name.hasPrefix("log-") {
                    try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
                }
            }
            let journal = try Journal(directory: folder)
            try check(journal)
            let found = try journal.history(.all, after: EventID(0), limit: 1000)
            #expect(found.allSatisfy { events.contains($0) })
            if !isLogGone { #expect(found == events) }
            // It goes on in any case.
            try journal.commit([.accepted(try sample(1000))])
            #expect(try journal.event(EventID(1000)) != nil)
            #expect(journal.count == found.count + 1)
        }
    }

    private var wrecks: [(name: String, change: (inout Data) -> Void)] {
        [
            ("garbage", { for index in $0.indices { $0[index] = .random(in: 0...255) } }),
            ("seven bytes", { $0 = $0.prefix(7) }),
        ] + [1, 2, 3, 5, 9].map { part in ("\(part) tenths", { $0 = $0.prefix($0.count * part / 10) }) }
    }

    @Test func aFileThatIsCutOrGarbageIsSetAside() throws {
        for wreck in wrecks { try damaged(wreck.change) { #expect($0.setAside != nil, "\(wreck.name)") } }
    }

    @Test(.folder) func theNewestThreeDamagedFilesAreKept() throws {
        var last: String?
        for round in 1...5 {
            try Data("damaged \(round)".utf8).write(to: URL(filePath: folder + "/index.db"))
            let journal = try Journal(directory: folder)
            last = journal.setAside?.file
            journal.close()
        }
        let kept = try files(in: folder).filter { $0.contains("damaged") }.map { "\(folder)/\($0)" }
        #expect(kept.count == 3 && last.map { kept.contains($0) } == true)
    }

    @Test(
        .folder, arguments: ["DROP TABLE change", "DROP INDEX event_name", "PRAGMA user_version = 0"], [true, false])
    func anIndexWithoutItsTablesIsSetAside(_ change: String, isLarge: Bool) throws {
        let journal = try Journal(directory: folder)
        try journal.commit([.accepted(try sample(1))])
        journal.close()
        let queue = try DatabaseQueue(path: journal.path)
        try queue.write { try $0.execute(sql: change) }
        try queue.close()
        let next = try Journal(directory: folder, checkedWhenOpened: isLarge ? 0 : 1 << 20)
        #expect(next.setAside?.reason == .damaged)
        #expect(try next.event(EventID(1)) == sample(1))
        try next.commit([.accepted(try sample(2))])
        #expect(next.count == 2)
    }

    @Test(arguments: [false, true]) func ofAZeroedPageOnlyItsRowsAreLost(isLogGone: Bool) throws {
        var pages = 1
        var page = 0
        var bare = 0
        while page < pages {
            try damaged(isLogGone: isLogGone) { file in
                pages = file.count / Journal.pageSize
                file.replaceSubrange(
                    page * Journal.pageSize..<(page + 1) * Journal.pageSize, with: Data(count: Journal.pageSize))
            } _: { journal in
                let count = try journal.history(.all, after: EventID(0), limit: 1000).count
                #expect(journal.setAside != nil || count == 200, "page \(page): \(count)")
                // Without its first page, or the root of a table, a file is none.
                if count < 150 { bare += 1 }
            }
            page += 1
        }
        #expect(pages > 20)
        if isLogGone { #expect(bare < 4) }
    }

    /// The log gives the place of what the index has to others.
    @Test(.folder, arguments: [10, 3000]) func aMissingIndexIsToldUnlessTheLogHasAll(_ count: UInt64) throws {
        let journal = try Journal(directory: folder)
        for number in 1...count {
            var event = try sample(number)
            event.body = String(repeating: "x", count: 8000)
            try journal.commit([.accepted(event)])
        }
        journal.close()
        for name in try files(in: folder) where name.hasPrefix("index.db") { unlink("\(folder)/\(name)") }
        let next = try Journal(directory: folder)
        #expect(next.setAside?.reason == (count == 10 ? nil : .missing))
        #expect(next.damagedRows == 0 && (next.count == count) == (count == 10))
    }

    /// - Parameter isWrittenSince: whether another run has written the log after it was erased.
    @Test(.folder, arguments: [false, true]) func aMissingIndexIsToldThoughTheLogWasErased(isWrittenSince: Bool) throws
    {
        var journal = try Journal(directory: folder)
        for id in 1...9 as ClosedRange<UInt64> {
            let decision = StoredDecision(outcome: .shown, resolved: 1)
            try journal.commit([.accepted(try sample(id)), .decided(EventID(id), decision)])
        }
        _ = try journal.forget(.all, after: .init(before: .all), upTo: EventID(5), limit: 100)
        while try !journal.scrub() {}
        journal.close()
        if isWrittenSince {
            journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(10))])
            journal.close()
        }
        for name in try files(in: folder) where name.hasPrefix("index.db") { unlink("\(folder)/\(name)") }
        let next = try Journal(directory: folder)
        #expect(next.setAside?.reason == .missing && next.damagedRows == 0)
        #expect(next.count == (isWrittenSince ? 1 : 0))
    }

    /// What SQLite's log has not is in ours.
    @Test(.folder) func ofATruncatedLogOfTheIndexNothingIsMissed() throws {
        let journal = try Journal(directory: folder + "/first")
        for number in 1...50 as ClosedRange<UInt64> {
            try journal.commit([.accepted(try sample(number))])
            if number % 5 == 0 { try journal.fold() }
        }
        let size = try Data(contentsOf: URL(filePath: journal.path + "-wal")).count
        for length in stride(from: 0, to: size, by: size / 23) {
            let copy = "\(folder)/\(length)"
            try copyOfJournal(in: folder + "/first", to: copy)
            #expect(truncate(copy + "/index.db-wal", off_t(length)) == 0)
            let journal = try Journal(directory: copy)
            let ids = try journal.history(.all, after: EventID(0), limit: 1000).map(\.id.rawValue)
            #expect(journal.setAside == nil && journal.damagedRows == 0)
            #expect(ids == Array(1...50))
        }
    }

    @Test(.folder) func aFileThatBreaksWhileItIsInUseIsSetAsideWhenItIsOpenedAgain() throws {
        let journal = try Journal(directory: folder)
        try journal.commit([.accepted(try sample(1))])
        journal.close()
        try Data(repeating: 7, count: 10_000).write(to: URL(filePath: folder + "/index.db"))
        _ = try journal.reopen()
        #expect(journal.setAside != nil)
        // The log still has the first one.
        try journal.commit([.accepted(try sample(2))])
        #expect(journal.count == 2)
    }

    @Test(.folder) func aNewerFileIsNotTouched() throws {
        let journal = try Journal(directory: folder)
        try journal.commit([.accepted(try sample(1))])
        try journal.write { db in try db.execute(sql: "PRAGMA user_version = 99") }
        journal.close()
        let url = URL(filePath: folder + "/index.db")
        let before = try Data(contentsOf: url)
        #expect(throws: JournalError.tooNew) { try Journal(directory: folder) }
        #expect(try Data(contentsOf: url) == before)
    }

    @Test(.folder) func aFileThatWasBegunAndNotFinishedIsFinished() throws {
        try Data().write(to: URL(filePath: folder + "/index.db"))
        let journal = try Journal(directory: folder)
        try journal.commit([.accepted(try sample(1))])
        #expect(journal.setAside == nil)
        #expect(try journal.undecided().count == 1)
    }
}
