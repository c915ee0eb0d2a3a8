import Foundation
import GRDB
import Routing
import Testing

@testable import Journal

/// The random number that distinguishes journals.
struct SeedTests {
    private func seed(_ folder: String) throws -> String {
        let journal = try Journal(directory: folder)
        defer { journal.close() }
        return try #require(journal.seed)
    }

    @Test func everyJournalHasAnotherAndKeepsIt() throws {
        try withFolder { folder in
            let first = try seed(folder + "/1")
            #expect(first.count == 32 && first.allSatisfy { "0123456789abcdef".contains($0) })
            #expect(try seed(folder + "/1") == first)
            #expect(try seed(folder + "/2") != first)
            let reader = try Journal(readingIn: folder + "/1")
            #expect(reader.seed == first)
        }
    }

    @Test func aDamagedOneIsReplacedAndCounted() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let first = try #require(journal.seed)
            try journal.write { db in try db.execute(sql: "UPDATE identity SET seed = 'f' || substr(seed, 2, 31)") }
            try journal.write { db in try db.execute(sql: "UPDATE identity SET checksum = checksum + 1") }
            journal.close()
            let next = try Journal(directory: folder)
            #expect(next.damagedRows == 1)
            #expect(next.seed?.count == 32 && next.seed != first)
            let seed = next.seed
            next.close()
            #expect(try self.seed(folder) == seed)
        }
    }

    @Test func whatIsCarriedOverStaysTheSameJournal() throws {
        try withFolder { folder in
            let directory = folder + "/notifyd"
            let journal = try Journal(directory: directory)
            let first = try #require(journal.seed)
            try journal.commit([.accepted(try sample(1))])
            try FileManager.default.removeItem(atPath: directory)
            #expect(throws: JournalError.self) { try journal.commit([.accepted(try sample(2))]) }
            try journal.reopen(without: [EventID(2)])
            #expect(journal.seed == first)
            journal.close()
            #expect(try seed(directory) == first)
        }
    }

    @Test func anotherJournalInItsPlaceIsItself() throws {
        try withFolder { folder in
            let other = try seed(folder + "/other")
            let directory = folder + "/notifyd"
            let journal = try Journal(directory: directory)
            try journal.commit([.accepted(try sample(1))])
            try FileManager.default.removeItem(atPath: directory)
            try FileManager.default.moveItem(atPath: folder + "/other", toPath: directory)
            #expect(throws: JournalError.self) { try journal.commit([.accepted(try sample(2))]) }
            try journal.reopen(without: [EventID(2)])
            #expect(journal.seed == other)
        }
    }
}
