import Foundation
import GRDB
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// The random number that distinguishes journals.
struct SeedTests {
    private let folder = Fixture.folder

    private func seed(_ folder: String) throws -> String {
        let journal = try Journal(directory: folder)
        defer { journal.close() }
        return try #require(journal.seed)
    }

    @Test(.folder) func everyJournalHasAnotherAndKeepsIt() throws {
        let first = try seed(folder + "/1")
        #expect(first.count == 32 && first.allSatisfy { "0123456789abcdef".contains($0) })
        #expect(try seed(folder + "/1") == first)
        #expect(try seed(folder + "/2") != first)
        let reader = try Journal(readingIn: folder + "/1")
        #expect(reader.seed == first)
    }

    @Test(.folder) func aDamagedOneIsReplacedAndCounted() throws {
        let journal = try Journal(directory: folder)
        let first = try #require(journal.seed)
        try journal.damage(.seed)
        journal.close()
        let next = try Journal(directory: folder)
        #expect(next.damagedRows == 1)
        #expect(next.seed?.count == 32 && next.seed != first)
        let seed = next.seed
        next.close()
        #expect(try self.seed(folder) == seed)
    }

    @Test(.folder) func whatIsCarriedOverStaysTheSameJournal() throws {
        let journal = try Journal(directory: folder)
        let first = try #require(journal.seed)
        try journal.commit([.accepted(try sample(1))])
        journal.close()
        let queue = try DatabaseQueue(path: journal.path)
        try queue.write { db in try db.execute(sql: "DROP INDEX event_topic") }
        try queue.close()
        #expect(try seed(folder) == first)
        #expect(try files(in: folder).contains { $0.contains("damaged") })
    }

    @Test(.folder) func withANewOneWhatWasSaidKeepsItsNames() throws {
        let journal = try Journal(directory: folder)
        let first = try #require(journal.seed)
        var (unnamed, half, value) = (try sample(1), try sample(2), try sample(4, topic: "/b", retained: true))
        unnamed.origin = Origin(via: "mqtt")
        half.origin = Origin(source: "test")
        value.origin = Origin()
        let named = try sample(3)
        let decided = StoredDecision(outcome: .claimed, resolved: 5000)
        try journal.commit(
            [
                .accepted(unnamed), .accepted(half), .accepted(named), .accepted(value),
                .decided(EventID(1), decided),
            ])
        try journal.commit([removal(try Topic("/b"), EventID(5), Origin(), accepted: 9, published: 9)])
        let before = try journal.changes(after: .init(after: 0), limit: 100, bytes: .max).changes
        try journal.makeNewSeed(namingEarlierEvents: "notifyd:old")
        #expect(journal.seed != first && journal.seed?.count == 32)
        let seed = journal.seed
        journal.close()
        let next = try Journal(directory: folder)
        #expect(next.seed == seed && next.damagedRows == 0)
        func origin(_ id: UInt64) throws -> Origin? { try next.event(EventID(id))?.origin }
        #expect(try origin(1) == Origin(source: "notifyd:old", eventID: "1", via: "mqtt"))
        #expect(try origin(2) == Origin(source: "notifyd:old", eventID: "2"))
        #expect(try origin(3) == named.origin)
        #expect(try next.event(EventID(1))?.decision == decided)
        #expect(try next.event(named: Origin(source: "notifyd:old", eventID: "4")) == EventID(4))
        #expect(try next.tombstones().map(\.version.origin) == [Origin(source: "notifyd:old", eventID: "5")])
        let after = try next.changes(after: .init(after: 0), limit: 100, bytes: .max).changes
        #expect(after.map(\.number) == before.map(\.number))
        let removals = after.compactMap { change -> Origin? in
            if case .removed(let removal) = change.content { removal.origin } else { nil }
        }
        #expect(removals == [Origin(source: "notifyd:old", eventID: "5")])
    }

    @Test(.folder) func whatTakesThePlaceOfALostOneStaysTheSameJournal() throws {
        let directory = folder + "/notifyd"
        let journal = try Journal(directory: directory)
        let first = try #require(journal.seed)
        try FileManager.default.removeItem(atPath: directory)
        journal.abandon()
        _ = try journal.reopen()
        #expect(journal.seed == first)
        journal.close()
        #expect(try seed(directory) == first)
    }

    @Test(.folder) func anotherJournalInItsPlaceIsItself() throws {
        let other = try seed(folder + "/other")
        let directory = folder + "/notifyd"
        let journal = try Journal(directory: directory)
        try journal.commit([.accepted(try sample(1))])
        try FileManager.default.removeItem(atPath: directory)
        try FileManager.default.moveItem(atPath: folder + "/other", toPath: directory)
        journal.abandon()
        _ = try journal.reopen()
        #expect(journal.seed == other)
    }
}
