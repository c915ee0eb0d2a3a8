import GRDB
import Routing
import Testing

@testable import Journal

/// What makes room, and what stays.
struct RetentionTests {
    @Test func theOldestDecidedEventsGoFirstAndOpenOnesStay() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            for id in 1...10 as ClosedRange<UInt64> {
                try journal.commit([.accepted(try sample(id))])
                if id != 2 { try journal.commit([.decided(EventID(id), StoredDecision(outcome: .shown, resolved: 1))]) }
            }
            #expect(try journal.expire(before: 0, keeping: 6) == 4)
            #expect(
                try journal.history(.all, after: EventID(0), limit: 100).map(\.id.rawValue) == [2, 6, 7, 8, 9, 10])
            #expect(try journal.expire(before: .max, keeping: 100) == 4)
            #expect(try journal.history(.all, after: EventID(0), limit: 100).map(\.id.rawValue) == [2, 10])
        }
    }

    @Test func valuesAtTheFrontDoNotKeepWhatIsBehindThem() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let claim = ClaimRecord(claimant: ":1.2", latency: .milliseconds(1), form: .claim, verdict: .recorded)
            for id in 1...10 as ClosedRange<UInt64> {
                let event = try sample(id, topic: "/post/\(id)", retained: id <= 4)
                let decision = StoredDecision(outcome: .silent, resolved: 1)
                try journal.commit([.accepted(event), .decided(event.id, decision), .claimed(event.id, claim)])
            }
            #expect(try journal.expire(before: 0, keeping: 7, step: 2) == 2)
            #expect(try journal.expire(before: 0, keeping: 7, step: 2) == 1)
            #expect(try journal.expire(before: 0, keeping: 7, step: 2) == 0)
            let left = try journal.history(.all, after: EventID(0), limit: 100).map(\.id.rawValue)
            #expect(left == [1, 2, 3, 4, 8, 9, 10])
            let claims = try journal.read { db in try Int.fetchAll(db, sql: "SELECT event FROM claim ORDER BY event") }
            #expect(claims == [1, 2, 3, 4, 8, 9, 10])
        }
    }

    @Test func whatARemovalIsCalledIsKeptForADay() throws {
        try withFolder { folder in
            let day = Limits().repeatMemory.microseconds
            var journal = try Journal(directory: folder)
            for (number, moment) in [1, 2, 3, day + 2, day + 3].enumerated() {
                let origin = Origin(source: "test", eventID: "\(number)")
                try journal.commit([
                    .removed(Topic("/post/27"), EventID(UInt64(number + 1)), origin, accepted: moment)
                ])
            }
            journal.close()
            journal = try Journal(directory: folder)
            let kept = try journal.named(after: .init(accepted: 0, id: EventID(0)), limit: 10)
            #expect(kept.map(\.origin.eventID) == ["2", "3", "4"])
            #expect(kept.map(\.id.rawValue) == [3, 4, 5])
            #expect(journal.removals == 3)
            #expect(try journal.named(after: kept[0].position, limit: 1) == [kept[1]])
            try journal.commit(try (10...14).map { .accepted(try sample($0)) })
            #expect(try journal.firstName(since: 0, last: 4).accepted == 1_010)
            #expect(try journal.firstName(since: 1_012, last: 4).accepted == 1_012)
        }
    }

    @Test func onlySoManyRemovalsKeepTheirNames() throws {
        try withFolder { folder in
            var limits = Limits()
            limits.rememberedRepeats = 2
            let journal = try Journal(directory: folder, limits: limits)
            for number in 1...4 as ClosedRange<UInt64> {
                let origin = Origin(source: "test", eventID: "\(number)")
                try journal.commit([
                    .removed(Topic("/post/27"), EventID(number), origin, accepted: Int64(number))
                ])
            }
            let kept = try journal.named(after: .init(accepted: 0, id: EventID(0)), limit: 10)
            #expect(kept.map(\.origin.eventID) == ["3", "4"])
        }
    }
}
