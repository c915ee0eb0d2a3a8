import Foundation
import GRDB
import Routing
import Testing

@testable import Journal

/// `Changes`: everything in the order in which it was committed.
struct ChangesTests {
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

    @Test func everyKindComesInTheOrderOfTheCommits() throws {
        try withFolder { folder in
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
    }

    /// One event that the index had is written again by the daemon, and one that it had not got by the journal.
    @Test func eventsOfDeletedFilesAreListedInTheOrderInWhichTheyAreWrittenAgain() throws {
        try withFolder { folder in
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
    }

    @Test func whoeverKnowsTheChangesOfDeletedFilesInPartIsToldThatSomeAreLost() throws {
        try withFolder { folder in
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
    }

    /// As an event that a file has lost, with its outcome.
    @Test func anOutcomeThatIsReadAtOnceIsListedWithItsReadMark() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            var muted = StoredDecision(outcome: .muted, resolved: 5_000)
            muted.isRead = true
            try journal.commit([.accepted(try sample(1)), .decided(EventID(1), muted)])
            #expect(words(try list(journal)) == ["event 1", "1 muted", "1 read by "])
        }
    }

    @Test func onlyThePresentOutcomeIsListed() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1)), .decided(EventID(1), shown), .accepted(try sample(2))])
            let before = try list(journal)
            var retracted = StoredDecision(outcome: .retracted, resolved: 9_000)
            retracted.claimant = ":1.7"
            try journal.commit([.decided(EventID(1), retracted)])
            #expect(words(before) == ["event 1", "1 shown", "event 2"])
            #expect(words(try list(journal)) == ["event 1", "event 2", "1 retracted"])
            // To name the claimant's program is not a change.
            try journal.commit([.named(":1.7", "firefox", EventID(1))])
            #expect(words(try list(journal, after: before[2].number)) == ["1 retracted"])
        }
    }

    /// The clock is set back, or an older copy of the files is put in their place.
    @Test func numbersGrowOverRestartsRestoredFilesAndClocks() throws {
        try withFolder { folder in
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
    }

    @Test func whatIsDeletedIsAHoleAndOldestTellsOfRetention() throws {
        try withFolder { folder in
            var journal = try Journal(directory: folder)
            let start = journal.oldestChange
            for id in 1...5 as ClosedRange<UInt64> {
                try journal.commit([.accepted(try sample(id)), .decided(EventID(id), claimed)])
            }
            try journal.commit([.read(EventID(1), by: ":1.7", at: 1), .read(EventID(4), by: ":1.7", at: 1)])
            let all = try list(journal)
            // Forgotten events are holes.
            _ = try journal.forget(
                .all, after: Journal.UnreadPosition(before: .all), upTo: EventID(1), limit: 100)
            #expect(try list(journal) == all.filter { $0.id != EventID(1) })
            #expect(journal.oldestChange == start)
            _ = try journal.expire(olderThan: .seconds(1_000_000), keeping: 2)
            #expect(words(try list(journal)) == ["event 4", "4 claimed", "event 5", "5 claimed", "4 read by :1.7"])
            // What was accepted with 3 may be missing, and nothing after it.
            #expect(journal.oldestChange == all[4].number + 1)
            journal.close()
            journal = try Journal(directory: folder)
            #expect(journal.oldestChange == all[4].number + 1)
        }
    }

    /// A bridge finds out by the newest number whether the journal is an older copy.
    @Test func theHighestNumberIsToldAlsoIfItsEventIsDeleted() throws {
        try withFolder { folder in
            var journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1)), .accepted(try sample(2)), .decided(EventID(2), claimed)])
            let highest = try list(journal).last!.number
            _ = try journal.forget(
                .all, after: Journal.UnreadPosition(before: .all), upTo: EventID(9), limit: 100)
            for _ in 1...2 {
                let last = try #require(try list(journal).last)
                #expect(last.number == highest && last.content == .hole)
                #expect(
                    try journal.changes(
                        after: Journal.ChangePosition(after: highest), limit: 9, bytes: 1 << 20
                    ).changes.isEmpty)
                journal.close()
                journal = try Journal(directory: folder)
            }
            try journal.commit([.accepted(try sample(3))])
            #expect(try !list(journal).contains { $0.content == .hole })
        }
    }

    @Test func anEmptyJournalSaysWhereItBegins() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder, realtime: { 1_000 })
            #expect(journal.oldestChange == 1_001)
            #expect(try list(journal).isEmpty)
            try journal.commit([.accepted(try sample(1))])
            #expect(try list(journal)[0].number == 1_001)
        }
    }

    /// As after a lost file: the daemon writes again what only it knows.
    @Test func anEventThatComesAfterLaterOnesIsListedWhereItCame() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            for id in [1, 5, 3, 9, 4, 10] as [UInt64] { try journal.commit([.accepted(try sample(id))]) }
            let all = try list(journal)
            #expect(words(all) == [1, 5, 3, 9, 4, 10].map { "event \($0)" })
            for index in all.indices {
                #expect(try list(journal, after: all[index].number) == Array(all[(index + 1)...]))
            }
        }
    }

    @Test func damagedRowsAreLeftOut() throws {
        try withFolder { folder in
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
}
