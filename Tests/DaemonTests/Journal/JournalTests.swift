import Foundation
import GRDB
import GRDBSQLite
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

struct JournalTests {
    private let folder = Fixture.folder

    @Test(.folder) func whatWasCommittedIsThereAfterOpeningAgain() throws {
        let event = try sample(1)
        var decision = StoredDecision(outcome: .claimed, resolved: 5_000)
        decision.claimant = ":1.7"
        decision.latency = 30_000
        decision.form = .claim
        do {
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(event), .accepted(try sample(2))])
            try journal.commit([.decided(EventID(1), decision)])
            journal.close()
        }
        let journal = try Journal(directory: folder)
        var expected = event
        expected.decision = decision
        #expect(try journal.event(EventID(1)) == expected)
        #expect(try journal.undecided().map(\.id) == [EventID(2)])
        #expect(try journal.lastID() == EventID(2))
        #expect(journal.damagedRows == 0)
    }

    @Test(.folder, arguments: [0, 1, 15, 16, 3_000, 4_095, 4_096, 4_097, 60_000]) func textsOfAnyLengthAreKept(
        _ length: Int
    )
        throws
    {
        let journal = try Journal(directory: folder)
        let events = try (1...3 as ClosedRange<UInt64>).map { number in
            var event = try sample(number)
            event.title = String(repeating: "t", count: length / 2)
            event.body = String(repeating: "é", count: length / 2)
            event.fields = length % 2 == 0 ? [] : [Field(name: "text", value: .string(event.body))]
            return event
        }
        try journal.commit(events.map { .accepted($0) })
        for event in events { #expect(try journal.event(event.id) == event) }
        #expect(journal.damagedRows == 0)
    }

    /// Parsing a statement takes longer than running it.
    @Test(.folder) func noStatementIsPreparedAgain() throws {
        let journal = try Journal(directory: folder)
        func use(_ number: UInt64) throws {
            let event = try sample(number)
            try journal.commit([.accepted(event)])
            _ = try journal.event(named: event.origin)
            _ = try journal.history(.all, after: EventID(0), limit: 10)
            _ = try journal.changes(after: Journal.ChangePosition(after: 0), limit: 10, bytes: 1 << 20)
            _ = try journal.undecided()
            try journal.commit([.decided(event.id, StoredDecision(outcome: .shown, resolved: 1))])
        }
        func repeats() throws -> CInt {
            try journal.read { db in
                var sum: CInt = 0
                var statement = sqlite3_next_stmt(db.sqliteConnection, nil)
                while let present = statement {
                    sum += sqlite3_stmt_status(present, SQLITE_STMTSTATUS_REPREPARE, 0)
                    statement = sqlite3_next_stmt(db.sqliteConnection, present)
                }
                return sum
            }
        }
        try use(1)
        let before = try repeats()
        for number in 2...9 as ClosedRange<UInt64> { try use(number) }
        #expect(try repeats() == before)
    }

    @Test(.folder) func theNewestEventsComeFirst() throws {
        let journal = try Journal(directory: folder)
        try journal.commit(try (1...5).map { .accepted(try sample($0)) })
        #expect(try journal.newest(below: EventID(.max), limit: 2).map(\.id.rawValue) == [5, 4])
        #expect(try journal.newest(below: EventID(4), limit: 9).map(\.id.rawValue) == [3, 2, 1])
    }

    @Test(.folder) func anEventIsFoundByItsGlobalName() throws {
        let journal = try Journal(directory: folder)
        try journal.commit([.accepted(try sample(1)), .accepted(try sample(2))])
        var unnamed = try sample(3)
        unnamed.origin = Origin(source: "test")
        try journal.commit([.accepted(unnamed)])
        #expect(try journal.event(named: Origin(source: "test", eventID: "2", via: "mqtt")) == EventID(2))
        #expect(try journal.event(named: Origin(source: "test", eventID: "3")) == nil)
        #expect(try journal.event(named: Origin(source: "test")) == nil)
        try journal.damage("event", where: "id = 2")
        #expect(try journal.event(named: Origin(source: "test", eventID: "2")) == nil)
    }

    @Test(.folder, arguments: [UInt64.max >> 1, 1 << 63, .max]) func nothingIsAboveAnIDThatNoEventCanHave(
        _ id: UInt64
    ) throws {
        let journal = try Journal(directory: folder)
        try journal.commit([.accepted(try sample(1)), .accepted(try sample(2, topic: "/other"))])
        for topic in ["/", "/post", "/post/27"] {
            #expect(try journal.history(TopicPrefix(topic), after: EventID(id), limit: 100).isEmpty)
        }
        #expect(try journal.event(EventID(id)) == nil)
    }

    @Test(.folder) func oneAnswerHoldsNoMoreThanItsLimit() throws {
        let journal = try Journal(directory: folder)
        for id: UInt64 in 1...20 {
            var event = try sample(id, topic: "/post/\(id)", retained: true)
            event.body = String(repeating: "x", count: 1 << 20)
            try journal.commit([.accepted(event)])
        }
        // One event is a page, however large it is.
        #expect(try journal.history(.all, after: EventID(18), limit: 1000).map(\.id.rawValue) == [19])
        let values = try journal.valueList(.all)
        #expect(values.map(\.id.rawValue) == Array(1...20))
        #expect(try journal.values(values[...], bytes: 5 << 20).count == 4)
        #expect(try journal.values(values[19...], bytes: 1).events.map(\.id.rawValue) == [20])
        #expect(try journal.valueList(TopicPrefix("/post/20")).map(\.id.rawValue) == [20])
    }

    /// So a list of values can be read long after it was made.
    @Test(.folder) func aReplacedValueCanStillBeRead() throws {
        let journal = try Journal(directory: folder)
        for id: UInt64 in 1...2 {
            try journal.commit([.accepted(try sample(id, topic: "/post/\(id)", retained: true))])
        }
        let values = try journal.valueList(.all)
        try journal.commit([
            .accepted(try sample(3, topic: "/post/1", retained: true)),
            removal(try Topic("/post/2"), EventID(4), Origin(), accepted: 0),
        ])
        #expect(try journal.values(values[...], bytes: 1 << 20).events.map(\.id.rawValue) == [1, 2])
        #expect(try journal.valueList(.all).map(\.id.rawValue) == [3])
    }

    @Test(.folder) func aPageHoldsTheEventsThatFit() throws {
        let journal = try Journal(directory: folder)
        for id: UInt64 in 1...20 {
            var event = try sample(id)
            event.body = String(repeating: "x", count: Journal.pageBytes / 4)
            try journal.commit([.accepted(event)])
        }
        #expect(try journal.history(.all, after: EventID(0), limit: 1000).map(\.id.rawValue) == [1, 2, 3])
        #expect(try journal.history(.all, after: EventID(18), limit: 1000).map(\.id.rawValue) == [19, 20])
    }

    @Test(.folder) func anEventKeepsAFewOfTheClaimsThatDecidedNothing() throws {
        let journal = try Journal(directory: folder)
        let claim = ClaimRecord(claimant: ":1.2", latency: .milliseconds(1), form: .provisional, verdict: .recorded)
        try journal.commit([.accepted(try sample(1))] + Array(repeating: .claimed(EventID(1), claim), count: 40))
        #expect(try journal.state(of: EventID(1))?.claims == Array(repeating: claim, count: 32))
    }

    @Test(.folder) func everyFlippedByteOfARowIsNoticedAndOtherRowsStay() throws {
        do {
            let journal = try Journal(directory: folder)
            try journal.commit(try (1...20).map { .accepted(try sample($0)) })
            journal.close()
        }
        let url = URL(filePath: folder + "/index.db")
        let good = try Data(contentsOf: url)
        let mark = Data("Mina has something to say 07".utf8)
        let range = try #require(good.range(of: mark))
        for offset in range {
            var bad = good
            bad[offset] ^= 0x04
            try bad.write(to: url)
            let journal = try Journal(directory: folder)
            let ids = try journal.history(.all, after: EventID(0), limit: 100).map(\.id.rawValue)
            #expect(ids == Array(1...20).filter { $0 != 7 })
            #expect(journal.damagedRows == 1)
            journal.close()
        }
    }
}
