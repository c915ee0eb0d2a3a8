import Foundation
import GRDB
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// `Changes`: everything in the order in which it was committed.
struct ChangesTests {
    private let folder = Fixture.folder
    private let shown = StoredDecision(outcome: .shown, resolved: 5_000)
    private let claimed = StoredDecision(outcome: .claimed, resolved: 6_000)

    private func list(
        _ journal: Journal, after: UInt64 = 0, limit: Int = 1000, bytes: Int = 1 << 20
    ) throws -> [StoredChange] {
        var all: [StoredChange] = []
        var position: Journal.ChangePosition? = Journal.ChangePosition(after: after)
        while all.count < limit, let start = position {
            let portion = try journal.changes(after: start, limit: min(3, limit - all.count), bytes: bytes)
            all += portion.changes
            position = portion.position
        }
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.number < $1.number })
        return all
    }

    private func words(_ changes: [StoredChange]) -> [String] {
        changes.map { change in
            switch change.content {
            case .event(let event): "event \(event.id)"
            case .outcome(let event): "\(event.id) \(event.decision!.outcome)"
            case .read(let event, let claimant, _, _): "\(event.id) read by \(claimant)"
            case .removed(let removal): "\(removal.topic) \(removal.cause.rawValue)"
            case .hole: "hole"
            case .start(let last): "start after \(last)"
            }
        }
    }

    @Test(.folder) func everyKindComesInTheOrderOfTheCommits() throws {
        let journal = try Journal(directory: folder)
        var muted = StoredDecision(outcome: .muted, resolved: 5_000)
        try journal.commit([.accepted(try sample(1)), .accepted(try sample(2))])
        try journal.commit([.decided(EventID(2), muted), .accepted(try sample(3))])
        muted.isRead = true
        try journal.commit([
            .decided(EventID(2), muted), .read(EventID(2), by: ":1.7", at: 7_000), .decided(EventID(1), shown),
            removal(
                try Topic("/a"), EventID(4), Origin(source: "x", eventID: "y", via: "z"), accepted: 8,
                published: 7),
            removal(try Topic("/b"), EventID(5), Origin(), accepted: 9),
        ])
        let all = try list(journal)
        #expect(
            words(all) == [
                "event 1", "event 2", "2 muted", "event 3", "2 read by :1.7", "1 shown", "/a publisher",
                "/b expired",
            ])
        guard case .removed(let removal) = all[6].content else { throw CancellationError() }
        #expect(removal.published == 7 && removal.id == EventID(4) && removal.origin.via == "z")
        // What comes after any of them.
        for index in all.indices {
            #expect(try list(journal, after: all[index].number) == Array(all[(index + 1)...]))
        }
        #expect(try list(journal, limit: 5) == Array(all.prefix(5)))
        #expect(try list(journal, bytes: 1) == all)
        #expect(try list(journal, after: .max).isEmpty)
        #expect(journal.oldestChange <= all[0].number)
    }

    /// One event that the index had is written again by the daemon, and one that it had not got by the journal.
    @Test(.folder) func eventsOfDeletedFilesAreListedInTheOrderInWhichTheyAreWrittenAgain() throws {
        let journal = try Journal(directory: folder + "/notifyd")
        try journal.commit([.accepted(try sample(1))])
        try journal.fold()
        try journal.commit([.accepted(try sample(2))])
        try FileManager.default.removeItem(atPath: folder + "/notifyd")
        journal.abandon()
        _ = try journal.reopen()
        try journal.commit([.accepted(try sample(1))])
        try journal.commit([.accepted(try sample(3))])
        let all = try list(journal)
        #expect(words(all) == ["event 2", "event 1", "event 3"])
        for index in all.indices {
            #expect(try list(journal, after: all[index].number) == Array(all[(index + 1)...]))
        }
    }

    @Test(.folder) func whoeverKnowsTheChangesOfDeletedFilesInPartIsToldThatSomeAreLost() throws {
        let earlier = try Journal(directory: folder + "/notifyd")
        try earlier.commit([.accepted(try sample(1))])
        earlier.close()
        let journal = try Journal(directory: folder + "/notifyd")
        try journal.commit([.accepted(try sample(2))])
        try journal.fold()
        let lost = journal.newestChange
        try FileManager.default.removeItem(atPath: folder + "/notifyd")
        journal.abandon()
        _ = try journal.reopen()
        #expect(journal.oldestChange > lost)
    }

    /// The clock is set back, or an older copy of the files is put in their place.
    @Test(.folder) func numbersGrowOverRestartsRestoredFilesAndClocks() throws {
        let (first, copy) = (folder + "/first", folder + "/copy")
        var journal = try Journal(directory: first, realtime: { 1_000_000 })
        try journal.commit([.accepted(try sample(1))])
        journal.close()
        try copyOfJournal(in: first, to: copy)
        journal = try Journal(directory: first, realtime: { 500 })
        try journal.commit([.decided(EventID(1), claimed), .accepted(try sample(2))])
        let said = try list(journal)
        #expect(said[0].number > 1_000_000 && said.count == 3)
        journal.close()
        journal = try Journal(directory: copy, realtime: { 2_000_000 })
        try journal.commit([.accepted(try sample(3))])
        let now = try list(journal)
        #expect(words(now) == ["event 1", "event 3"])
        #expect(now[1].number > said[2].number)
        #expect(now[1].number > 2_000_000)
    }

    /// Whoever is behind by more, or wants less, reads the file.
    @Test(.folder) func onlyTheNewestChangesAreReadFromMemory() throws {
        let journal = try Journal(directory: folder)
        for id in 1...100 as ClosedRange<UInt64> { try journal.commit([.accepted(try sample(id))]) }
        #expect(journal.pending.changes(after: journal.numbers.last - 1)?.count == 1)
        #expect(try list(journal).count == 100)
        let some = try journal.changes(
            after: Journal.ChangePosition(after: UInt64(journal.numbers.last - 10)), limit: 3, bytes: 1 << 20)
        #expect(some.changes.count == 3 && some.position != nil)
        #expect(journal.pending.changes(after: journal.numbers.last - 1) == nil)
    }

    @Test(.folder) func damagedRowsAreLeftOut() throws {
        let journal = try Journal(directory: folder)
        try journal.commit([
            .accepted(try sample(1)), .accepted(try sample(2)), .decided(EventID(2), shown),
            .read(EventID(2), by: ":1.7", at: 1),
            removal(try Topic("/a"), EventID(3), Origin(), accepted: 1, published: 1),
        ])
        try journal.damage("event", where: "id = 1")
        try journal.damage("change", where: "number = (SELECT max(number) FROM change)")
        #expect(words(try list(journal)) == ["event 2", "2 shown", "2 read by :1.7"])
        #expect(journal.damagedRows > 0)
    }
}

/// The row `start` of `Changes`.
struct StartTests {
    private let folder = Fixture.folder

    private func starts(_ journal: Journal) throws -> [(number: UInt64, last: UInt64)] {
        try journal.changes(after: Journal.ChangePosition(after: 0), limit: 100, bytes: 1 << 20).changes.compactMap {
            if case .start(let last) = $0.content { ($0.number, last) } else { nil }
        }
    }

    private func numbers(_ journal: Journal) throws -> [UInt64] {
        try journal.changes(after: Journal.ChangePosition(after: 0), limit: 100, bytes: 1 << 20).changes.map(\.number)
    }

    /// A bridge that has read a number between the two knows that the journal is an older copy.
    @Test(.folder) func aRestoredCopyShowsTheGap() throws {
        let (now, copy) = (folder + "/now", folder + "/copy")
        var journal = try Journal(directory: now)
        try journal.probe()
        try journal.commit([.accepted(try sample(1))])
        let before = try numbers(journal).last!
        journal.close()
        try copyOfJournal(in: now, to: copy)
        journal = try Journal(directory: now)
        try journal.commit([.accepted(try sample(2))])
        let read = try numbers(journal).last!
        journal.close()
        journal = try Journal(directory: copy)
        try journal.probe()
        let start = try #require(try starts(journal).last)
        #expect(start.last == before && start.last < read && read < start.number)
    }

    /// What was in the lost files is not in the new ones.
    @Test(.folder) func aJournalThatTakesThePlaceOfALostOneStartsAsWell() throws {
        let directory = folder + "/notifyd"
        let journal = try Journal(directory: directory)
        try journal.probe()
        try journal.commit([.accepted(try sample(1)), .accepted(try sample(2))])
        let read = try numbers(journal).last!
        try journal.fold()
        try FileManager.default.removeItem(atPath: directory)
        journal.abandon()
        _ = try journal.reopen()
        try journal.probe()
        let start = try #require(try starts(journal).first)
        #expect(try starts(journal).count == 1)
        #expect(read < start.number)
        #expect(try numbers(journal).count == 1)
    }
}
