import Foundation
import Routing
import Testing

@testable import Journal

/// Removals of values that are remembered, so that an older value does not come back.
struct TombstoneTests {
    private func tombstone(_ topic: String, _ id: UInt64, published: Int64) throws -> Tombstone {
        let version = ValueVersion(published: published, id: EventID(id), origin: Origin(source: "x", eventID: "\(id)"))
        return Tombstone(topic: try Topic(topic), version: version, removal: EventID(id))
    }

    private func remove(_ topic: String, _ id: UInt64, published: Int64) throws -> Record {
        removal(try Topic(topic), EventID(id), Origin(source: "x", eventID: "\(id)"), accepted: 1, published: published)
    }

    @Test func theLastRemovalOfEachTopicIsKept() throws {
        try withFolder { folder in
            var journal = try Journal(directory: folder)
            try journal.commit([try remove("/a", 1, published: 10), try remove("/b", 2, published: 20)])
            try journal.commit([try remove("/a", 3, published: 30)])
            let kept = [try tombstone("/b", 2, published: 20), try tombstone("/a", 3, published: 30)]
            #expect(try journal.tombstones() == kept)
            journal.close()
            journal = try Journal(directory: folder)
            #expect(try journal.tombstones() == kept)
            #expect(journal.tombstoneCount == 2)
        }
    }

    @Test func aRemovalThatCameTooLateLeavesTheValue() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1, topic: "/a", retained: true))])
            let late = StoredRemoval(
                id: EventID(2), topic: try Topic("/a"), origin: Origin(), published: 5, removed: 6, cause: .publisher)
            try journal.commit([.removed(late, leaving: nil)])
            #expect(try journal.values(.all).map(\.id) == [EventID(1)])
            #expect(try journal.tombstones().isEmpty)
            #expect(try journal.lastID() == EventID(2))
        }
    }

    @Test func theOldestMakeRoom() throws {
        try withFolder { folder in
            var limits = Limits()
            limits.removals = 3
            let journal = try Journal(directory: folder, limits: limits)
            for id in 1...5 as ClosedRange<UInt64> { try journal.commit([try remove("/\(id)", id, published: 1)]) }
            #expect(try journal.tombstones().map(\.removal.rawValue) == [3, 4, 5])
            #expect(journal.tombstoneCount == 3)
        }
    }

    @Test func damagedRowsAreLeftOut() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([try remove("/a", 1, published: 10), try remove("/b", 2, published: 20)])
            try journal.damage("state", where: "key = x'102F61'")
            #expect(try journal.tombstones().map(\.removal.rawValue) == [2])
            #expect(journal.damagedRows == 1)
        }
    }

    /// After a damaged file was set aside, the daemon writes what it has in memory.
    @Test func onlyWhatIsMissingIsWritten() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([try remove("/a", 3, published: 10)])
            let kept = [
                try tombstone("/a", 1, published: 5), try tombstone("/b", 2, published: 5),
                try tombstone("/c", 4, published: 5),
            ]
            try journal.commit(kept.map { .tombstone($0) })
            let now = try journal.tombstones()
            #expect(now.map { "\($0.topic) \($0.removal)" } == ["/b 2", "/a 3", "/c 4"])
        }
    }

    @Test func forgettingLeavesThem() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            var silent = StoredDecision(outcome: .silent, resolved: 5)
            silent.cause = "route"
            try journal.commit([
                .accepted(try sample(1, topic: "/a", retained: true)), .decided(EventID(1), silent),
                try remove("/a", 2, published: 10),
            ])
            _ = try journal.forget(.all, after: Journal.UnreadPosition(before: .all), upTo: EventID(9), limit: 100)
            #expect(try journal.history(.all, after: EventID(0), limit: 10).isEmpty)
            #expect(try journal.tombstones().map(\.removal.rawValue) == [2])
        }
    }
}

/// The row `start` of `Changes`.
struct StartTests {
    private func starts(_ journal: Journal) throws -> [(number: UInt64, last: UInt64)] {
        try journal.changes(after: Journal.ChangePosition(after: 0), limit: 100, bytes: 1 << 20).changes.compactMap {
            if case .start(let last) = $0.content { ($0.number, last) } else { nil }
        }
    }

    private func numbers(_ journal: Journal) throws -> [UInt64] {
        try journal.changes(after: Journal.ChangePosition(after: 0), limit: 100, bytes: 1 << 20).changes.map(\.number)
    }

    @Test func everyStartSaysWhatTheHighestNumberWas() throws {
        try withFolder { folder in
            var last: UInt64 = 0
            for count in 1...3 {
                let journal = try Journal(directory: folder)
                try journal.probe()
                try journal.probe()
                #expect(try starts(journal).count == count)
                #expect(try starts(journal).last?.last == last)
                try journal.commit([.accepted(try sample(UInt64(count)))])
                last = try numbers(journal).last!
                journal.close()
            }
        }
    }

    /// The highest number may be that of an event which is deleted.
    @Test func whatIsForgottenWasThere() throws {
        try withFolder { folder in
            var journal = try Journal(directory: folder)
            try journal.probe()
            try journal.commit([
                .accepted(try sample(1)), .decided(EventID(1), StoredDecision(outcome: .claimed, resolved: 5)),
            ])
            let last = try numbers(journal).last!
            _ = try journal.forget(.all, after: Journal.UnreadPosition(before: .all), upTo: EventID(9), limit: 100)
            journal.close()
            journal = try Journal(directory: folder)
            try journal.probe()
            #expect(try starts(journal).last?.last == last)
        }
    }

    /// The outcome of a forgotten event has a number and nothing else.
    @Test func whatHappensToAForgottenEventHasANumber() throws {
        try withFolder { folder in
            var journal = try Journal(directory: folder)
            try journal.probe()
            try journal.commit([.decided(EventID(1), StoredDecision(outcome: .claimed, resolved: 5))])
            let last = try #require(try numbers(journal).last)
            #expect(last == journal.newestChange)
            journal.close()
            journal = try Journal(directory: folder)
            try journal.probe()
            #expect(try starts(journal).last?.last == last)
        }
    }

    /// A bridge that has read a number between the two knows that the journal is an older copy.
    @Test func aRestoredCopyShowsTheGap() throws {
        try withFolder { folder in
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
    }

    /// What was in the lost files is not in the new ones.
    @Test func aJournalThatTakesThePlaceOfALostOneStartsAsWell() throws {
        try withFolder { folder in
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
}
