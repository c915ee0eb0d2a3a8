import GRDB
import Routing
import Testing

@testable import Journal

/// What a later event with the same `collapse` does to the earlier one on disk.
struct ReplacingTests {
    private func event(_ id: UInt64, _ collapse: String? = "k", topic: String = "/post/27") throws -> StoredEvent {
        var event = try sample(id, topic: topic)
        event.collapse = collapse
        return event
    }

    private func replaced(by id: UInt64) -> StoredDecision {
        var decision = StoredDecision(outcome: .replaced, resolved: 2)
        decision.successor = EventID(id)
        return decision
    }

    private let key = CollapseKey(topic: try! Topic("/post/27"), text: "k")

    @Test func onlyAnUndecidedOrShownEventIsReplaced() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            for (index, outcome) in Outcome.allCases.enumerated() {
                let id = EventID(UInt64(index + 1))
                try journal.commit([
                    .accepted(try event(id.rawValue)), .decided(id, .init(outcome: outcome, resolved: 1)),
                ])
                let found = try journal.replaceable(key)?.id
                #expect(found == (outcome == .shown ? id : nil), "\(outcome)")
                if outcome == .shown { try journal.commit([.decided(id, .init(outcome: .retracted, resolved: 1))]) }
            }
            try journal.commit([.accepted(try event(100)), .accepted(try event(101, topic: "/post/28"))])
            #expect(try journal.replaceable(key)?.id == EventID(100))
            #expect(try journal.replaceable(CollapseKey(topic: key.topic, text: "K")) == nil)
        }
    }

    @Test func theSuccessorIsKept() throws {
        try withFolder { folder in
            do {
                let journal = try Journal(directory: folder)
                var shown = StoredDecision(outcome: .shown, resolved: 1)
                shown.opened = 1
                shown.lateness = 3
                shown.delay = .absent
                try journal.commit([.accepted(try event(1)), .decided(EventID(1), shown)])
                try journal.commit([.accepted(try event(2)), .decided(EventID(1), replaced(by: 2))])
                journal.close()
            }
            let journal = try Journal(directory: folder)
            let decision = try #require(try journal.event(EventID(1))?.decision)
            #expect(decision.outcome == .replaced)
            #expect(decision.successor == EventID(2))
            #expect(decision.delay == .absent)
            #expect(decision.lateness == 3)
            #expect(try journal.event(EventID(2))?.collapse == "k")
            #expect(try journal.unread(.all) == 1)
            #expect(journal.damagedRows == 0)
        }
    }

    @Test(arguments: [Outcome.muted, .expired]) func whatWasNeverShownIsRead(_ outcome: Outcome) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([
                .accepted(try event(1)), .decided(EventID(1), StoredDecision(outcome: outcome, resolved: 1)),
                .accepted(try event(2, nil)), .decided(EventID(2), StoredDecision(outcome: outcome, resolved: 1)),
            ])
            try journal.commit([.accepted(try event(3))])
            #expect(try journal.event(EventID(1))?.decision?.isRead == true)
            #expect(try journal.event(EventID(2))?.decision?.isRead == false)
            #expect(try journal.unread(.all) == 2)
            #expect(try readMarks(journal) == [EventID(1): try event(3).sender])
            #expect(journal.damagedRows == 0)
        }
    }

    @Test func whatIsReplacedKeepsTheNameThatItsClaimantGotInTheSameTurn() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            var muted = StoredDecision(outcome: .muted, resolved: 1)
            muted.claimant = ":1.7"
            try journal.commit([.accepted(try event(1)), .decided(EventID(1), muted)])
            try journal.commit([.named(":1.7", "firefox", EventID(1)), .accepted(try event(2))])
            let decision = try #require(try journal.event(EventID(1))?.decision)
            #expect(decision.isRead && decision.program == "firefox")
        }
    }

    @Test func aSnoozedEventThatIsReplacedHasNoReadMark() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([
                .accepted(try event(1)), .decided(EventID(1), StoredDecision(outcome: .muted, resolved: 1)),
            ])
            try journal.commit([.accepted(try event(2)), .decided(EventID(1), replaced(by: 2))])
            #expect(try journal.event(EventID(1))?.decision?.outcome == .replaced)
            #expect(try readMarks(journal).isEmpty)
        }
    }

    /// By whom events were read that keep their outcomes, as `Changes` tells it.
    private func readMarks(_ journal: Journal) throws -> [EventID: String] {
        let changes = try journal.changes(after: Journal.ChangePosition(after: 0), limit: 1000, bytes: .max).changes
        return changes.reduce(into: [:]) { marks, change in
            if case .read(let event, let reader, at: _, from: _) = change.content { marks[event.id] = reader }
        }
    }

    @Test(arguments: [Outcome.muted, .expired]) func whatIsReplacedInTheTurnInWhichItCameIsReadToo(_ outcome: Outcome)
        throws
    {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([
                .accepted(try event(1)), .decided(EventID(1), StoredDecision(outcome: outcome, resolved: 1)),
                .accepted(try event(2)),
            ])
            #expect(try journal.event(EventID(1))?.decision?.isRead == true)
            #expect(try journal.unread(.all) == 1)
            #expect(try readMarks(journal) == [EventID(1): try event(2).sender])
        }
    }

    @Test func theIndexIsUsed() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let plan = try journal.read { db in
                try Row.fetchAll(
                    db, sql: "EXPLAIN QUERY PLAN SELECT * \(Journal.collapsed)", arguments: ["/post/27", "k"]
                ).map { $0["detail"] as String }
            }
            #expect(plan.allSatisfy { $0.contains("event_collapse (topic=? AND collapse=?)") }, "\(plan)")
        }
    }
}
