import Routing
import Testing

@testable import Journal

/// What a follower reads from memory is what the file has.
struct RecentChangesTests {
    private func read(_ journal: Journal, after number: UInt64) throws -> [StoredChange] {
        try journal.changes(after: Journal.ChangePosition(after: number), limit: 1000, bytes: 1 << 20).changes
    }

    private func decision(_ outcome: Outcome) -> StoredDecision {
        var decision = StoredDecision(outcome: outcome, resolved: 5_000)
        if outcome == .shown { (decision.opened, decision.deadline, decision.banner) = (1_000, 4_000, 7) }
        if outcome == .retracted { decision.claimant = ":1.7" }
        return decision
    }

    @Test func itIsWhatTheFileHas() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            var number = try read(journal, after: 0).last?.number ?? 0
            var fromMemory = 0
            let outcomes: [Outcome] = [.shown, .claimed, .silent, .muted, .expired, .retracted]
            for id in 1...200 as ClosedRange<UInt64> {
                var entries: [Record] = [.accepted(try sample(id, retained: id.isMultiple(of: 5)))]
                if id.isMultiple(of: 2) { entries.append(.decided(EventID(id - 1), decision(outcomes[Int(id) % 6]))) }
                if id.isMultiple(of: 3) { entries.append(.decided(EventID(id), decision(.shown))) }
                // A second outcome of one that is recent, and of one that is not.
                if id.isMultiple(of: 6) { entries.append(.decided(EventID(id - 3), decision(.retracted))) }
                if id == 100 { entries.append(.decided(EventID(2), decision(.claimed))) }
                if id.isMultiple(of: 50) { entries.append(.read(EventID(id - 1), by: ":1.7", at: 7_000)) }
                try journal.commit(entries)
                if journal.pending.changes(after: Int64(number)) != nil { fromMemory += 1 }
                let recent = try read(journal, after: number)
                // The index gets what waits only now and then.
                if id.isMultiple(of: 7) {
                    let position = Journal.ChangePosition(after: number)
                    #expect(try journal.storedChanges(after: position, limit: 1000, bytes: 1 << 20).changes == recent)
                }
                number = recent.last!.number
                #expect(try read(journal, after: number).isEmpty)
            }
            #expect(fromMemory > 100)
        }
    }

    /// Whoever is behind by more, or wants less, reads the file.
    @Test func itHasALimit() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let start = try read(journal, after: 0).last?.number ?? 0
            for id in 1...100 as ClosedRange<UInt64> { try journal.commit([.accepted(try sample(id))]) }
            #expect(journal.pending.changes(after: journal.numbers.last - 1)?.count == 1)
            #expect(try read(journal, after: start).count == 100)
            let some = try journal.changes(
                after: Journal.ChangePosition(after: UInt64(journal.numbers.last - 10)), limit: 3, bytes: 1 << 20)
            #expect(some.changes.count == 3 && some.position != nil)
            #expect(journal.pending.changes(after: journal.numbers.last - 1) == nil)
        }
    }

    @Test func deletedEventsAreGone() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let start = try read(journal, after: 0).last?.number ?? 0
            for id in 1...3 as ClosedRange<UInt64> {
                try journal.commit([.accepted(try sample(id)), .decided(EventID(id), decision(.claimed))])
            }
            _ = try journal.forget(
                .all, after: Journal.UnreadPosition(before: .all), upTo: EventID(2), limit: 100)
            let left = try read(journal, after: start)
            #expect(left.allSatisfy { $0.id == EventID(3) || $0.content == .hole } && !left.isEmpty)
        }
    }
}
