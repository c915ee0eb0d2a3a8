import Foundation
import GRDB
import Routing
import Testing

@testable import Journal

/// Files that are broken in bigger ways: never a crash, and never a silent loss.
struct DamageTests {
    private func damaged(_ change: (inout Data) -> Void, _ check: (Journal) throws -> Void) throws {
        try withFolder { folder in
            do {
                let journal = try Journal(directory: folder)
                try journal.commit(try (1...200).map { .accepted(try sample($0)) })
                journal.close()
            }
            let url = URL(filePath: folder + "/events.db")
            var file = try Data(contentsOf: url)
            change(&file)
            try file.write(to: url)
            let journal = try Journal(directory: folder)
            try check(journal)
            // It goes on in any case.
            try journal.commit([.accepted(try sample(1000))])
            #expect(try journal.event(EventID(1000)) != nil)
        }
    }

    @Test func garbageIsSetAside() throws {
        try damaged { file in
            for index in file.indices { file[index] = UInt8.random(in: 0...255) }
        } _: {
            #expect($0.setAside != nil)
        }
    }

    @Test func aTruncatedFileIsSetAside() throws {
        for part in [1, 2, 3, 5, 9] {
            try damaged { file in
                file = file.prefix(file.count * part / 10)
            } _: {
                #expect($0.setAside != nil, "\(part) tenths")
            }
        }
    }

    @Test func aFewBytesAreSetAside() throws {
        try damaged {
            $0 = $0.prefix(7)
        } _: {
            #expect($0.setAside != nil)
        }
    }

    /// The second step can be taken again, and is.
    @Test(arguments: ["1", "3", "4"], [true, false])
    func aFileThatForgetsItsSchemaIsSetAside(step: String, isLarge: Bool) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1))])
            journal.close()
            let queue = try DatabaseQueue(path: folder + "/events.db")
            try queue.write {
                try $0.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = ?", arguments: [step])
            }
            try queue.close()
            let next = try Journal(directory: folder, checkedWhenOpened: isLarge ? 0 : 1 << 20)
            #expect(next.setAside != nil)
            try next.commit([.accepted(try sample(2))])
        }
    }

    /// Two steps with one name: the list breaks a rule of its own.
    @Test func aFileThatNamesAStepOfItsSchemaTwiceIsSetAside() throws {
        try withFolder { folder in
            try Journal(directory: folder).close()
            let url = URL(filePath: folder + "/events.db")
            let queue = try DatabaseQueue(path: url.path)
            let (root, size) = try queue.read { db in
                (
                    try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'grdb_migrations'") ?? 0,
                    try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0
                )
            }
            try queue.close()
            var file = try Data(contentsOf: url)
            let page = file[(root - 1) * size..<root * size]
            file[try #require(page.lastIndex(of: UInt8(ascii: "3")))] = UInt8(ascii: "1")
            try file.write(to: url)
            #expect(try Journal(directory: folder).setAside != nil)
        }
    }

    @Test func aZeroedPageIsNoticedWhereverItIs() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit(try (1...200).map { .accepted(try sample($0)) })
            journal.close()
            let pages = try Data(contentsOf: URL(filePath: folder + "/events.db")).count / 4096
            for page in 0..<pages {
                try damaged { file in
                    file.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(count: 4096))
                } _: { journal in
                    let count = try journal.history(.all, after: EventID(0), limit: 1000).count
                    #expect(journal.setAside != nil || count == 200, "page \(page): \(count)")
                }
            }
        }
    }

    @Test func aTruncatedLogKeepsAllCommitsBeforeTheCut() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            for number in 1...50 as ClosedRange<UInt64> { try journal.commit([.accepted(try sample(number))]) }
            let log = try Data(contentsOf: URL(filePath: folder + "/events.db-wal"))
            let main = try Data(contentsOf: URL(filePath: folder + "/events.db"))
            journal.close()
            for length in stride(from: 0, to: log.count, by: log.count / 23) {
                try withFolder { other in
                    try main.write(to: URL(filePath: other + "/events.db"))
                    try log.prefix(length).write(to: URL(filePath: other + "/events.db-wal"))
                    let journal = try Journal(directory: other)
                    let ids = try journal.history(.all, after: EventID(0), limit: 1000).map(\.id.rawValue)
                    #expect(journal.setAside == nil)
                    #expect(ids == Array(1...50).prefix(ids.count).map { $0 })
                }
            }
        }
    }

    @Test func aFileThatBreaksWhileItIsInUseIsSetAsideWhenItIsOpenedAgain() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1))])
            journal.close()
            try Data(repeating: 7, count: 10_000).write(to: URL(filePath: folder + "/events.db"))
            try journal.reopen(without: [])
            #expect(journal.setAside != nil)
            try journal.commit([.accepted(try sample(2))])
            #expect(journal.count == 1)
        }
    }

    @Test func aNewerFileIsNotTouched() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1))])
            try journal.write { db in try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
            journal.close()
            let url = URL(filePath: folder + "/events.db")
            let before = try Data(contentsOf: url)
            #expect(throws: JournalError.tooNew) { try Journal(directory: folder) }
            #expect(try Data(contentsOf: url) == before)
        }
    }

    @Test func aFileThatWasBegunAndNotFinishedIsFinished() throws {
        try withFolder { folder in
            try Data().write(to: URL(filePath: folder + "/events.db"))
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1))])
            #expect(journal.setAside == nil)
            #expect(try journal.undecided().count == 1)
        }
    }
}
