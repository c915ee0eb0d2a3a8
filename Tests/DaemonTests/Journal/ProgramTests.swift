import GRDB
import Routing
import Testing

@testable import Journal

/// What claimants are called, on disk.
struct ProgramTests {
    private func decision(_ program: String? = nil) -> StoredDecision {
        var decision = StoredDecision(outcome: .claimed, resolved: 1)
        decision.claimant = ":1.7"
        decision.latency = 30
        decision.form = .claim
        decision.program = program
        return decision
    }

    private func claim(_ claimant: String, _ program: String? = nil) -> ClaimRecord {
        ClaimRecord(
            claimant: claimant, latency: .milliseconds(1), form: .claim, verdict: .recorded, program: program)
    }

    @Test func whatIsKnownIsWrittenWithTheClaim() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([
                .accepted(try sample(1)), .decided(EventID(1), decision("firefox")),
                .claimed(EventID(1), claim(":1.8", "feed.service")), .claimed(EventID(1), claim(":1.9")),
            ])
            journal.close()
            let again = try Journal(directory: folder)
            #expect(try again.event(EventID(1))?.decision == decision("firefox"))
            #expect(try again.claims(on: EventID(1)) == [claim(":1.8", "feed.service"), claim(":1.9")])
            #expect(again.damagedRows == 0)
        }
    }

    @Test func whatTurnsOutLaterIsAddedToTheClaimsOfThatConnectionOnly() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let ids = [EventID(1), EventID(2), EventID(3)]
            for id in ids {
                try journal.commit([
                    .accepted(try sample(id.rawValue)), .claimed(id, claim(":1.7")), .claimed(id, claim(":1.8")),
                    .decided(id, decision()),
                ])
            }
            try journal.commit([1, 2, 9].map { .named(":1.7", "firefox", EventID($0)) })
            try journal.commit([.named(":1.8", "feed.service", EventID(2))])
            journal.close()
            let again = try Journal(directory: folder)
            #expect(try ids.map { try again.event($0)?.decision?.program } == ["firefox", "firefox", nil])
            #expect(
                try ids.map { try again.claims(on: $0).map(\.program) }
                    == [["firefox", nil], ["firefox", "feed.service"], [nil, nil]])
            #expect(try again.event(EventID(1))?.decision == decision("firefox"))
            #expect(again.damagedRows == 0)
        }
    }

    @Test func aNameThatIsNotWhatWasWrittenIsLeftOutWithItsRow() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([
                .accepted(try sample(1)), .decided(EventID(1), decision("firefox")),
                .claimed(EventID(1), claim(":1.8", "feed.service")),
            ])
            try journal.damage("event")
            #expect(try journal.event(EventID(1)) == nil)
            #expect(try journal.claims(on: EventID(1)).isEmpty)
            #expect(journal.damagedRows == 2)
        }
    }
}
