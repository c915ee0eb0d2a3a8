import Foundation
import GRDB
import Routing
import Testing

@testable import Journal

struct JournalTests {
    @Test func whatWasCommittedIsThereAfterOpeningAgain() throws {
        try withFolder { folder in
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
    }

    @Test func everyTypeOfFieldComesBackUnchanged() throws {
        let fields: [Field] = [
            Field(name: "y", value: .byte(255)), Field(name: "b", value: .boolean(true)),
            Field(name: "n", value: .int16(-5)), Field(name: "q", value: .uint16(65535)),
            Field(name: "i", value: .int32(.min)), Field(name: "u", value: .uint32(.max)),
            Field(name: "x", value: .int64(.min)), Field(name: "t", value: .uint64(.max)),
            Field(name: "d", value: .double(-0.5)), Field(name: "s", value: .string("영희 \u{1F469}")),
            Field(name: "o", value: .objectPath("/a")), Field(name: "g", value: .signature("a{sv}")),
            Field(name: "empty", value: .array(of: "a{sv}", [])),
            Field(name: "list", value: .array(of: "s", [.string("a"), .string("")])),
            Field(
                name: "map",
                value: .dictionary(
                    key: "s", value: "v",
                    [Value.Pair(key: .string("k"), value: .variant(.array(of: "i", [.int32(1)])))])),
            Field(name: "", value: .variant(.dictionary(key: "u", value: "as", []))),
        ]
        #expect(try FieldCoding.decode(FieldCoding.encode(fields)) == fields)
    }

    @Test func bytesThatWereNeverWrittenAreRefusedAndDoNotCrash() {
        let bytes = FieldCoding.encode([
            Field(
                name: "map",
                value: .dictionary(
                    key: "s", value: "as",
                    [
                        Value.Pair(key: .string("k"), value: .array(of: "s", [.string("v")]))
                    ]))
        ])
        for length in 1..<bytes.count {
            #expect(throws: FieldCoding.Malformed.self) { try FieldCoding.decode(Array(bytes.prefix(length))) }
        }
        var random = SystemRandomNumberGenerator()
        for _ in 0..<5_000 {
            var broken = bytes
            for _ in 0..<3 { broken[Int.random(in: 0..<broken.count, using: &random)] = UInt8.random(in: 0...255) }
            _ = try? FieldCoding.decode(broken)
        }
    }

    @Test func historyIsPagedInOrderAndKeptWithinItsTopic() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let topics = ["/post/27", "/post/27/reply", "/post/270", "/postal", "/post/27", "/other"]
            try journal.commit(try topics.enumerated().map { .accepted(try sample(UInt64($0 + 1), topic: $1)) })
            func ids(_ topic: String, after: UInt64 = 0, limit: Int = 100) throws -> [UInt64] {
                try journal.history(TopicPrefix(topic), after: EventID(after), limit: limit).map(\.id.rawValue)
            }
            #expect(try ids("/post/27") == [1, 2, 5])
            #expect(try ids("/post") == [1, 2, 3, 5])
            #expect(try ids("/") == [1, 2, 3, 4, 5, 6])
            #expect(try ids("/", after: 2, limit: 2) == [3, 4])
            #expect(try ids("/post/27", after: 1, limit: 1) == [2])
        }
    }

    @Test func unreadIsWhatNobodyHasSeenTo() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            for (index, outcome) in [Outcome.shown, .muted, .expired, .claimed, .retracted, .dismissed, .silent]
                .enumerated()
            {
                let id = EventID(UInt64(index + 1))
                try journal.commit([
                    .accepted(try sample(id.rawValue)), .decided(id, StoredDecision(outcome: outcome, resolved: 1)),
                ])
            }
            try journal.commit([.accepted(try sample(8))])
            #expect(try journal.unread(.all) == 4)
            #expect(try journal.unread(TopicPrefix("/post/27")) == 4)
            #expect(try journal.unread(TopicPrefix("/post/2")) == 0)
        }
    }

    @Test func aValueIsTheLastOneAndGoesWhenItIsRemoved() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1, retained: true)), .accepted(try sample(2, retained: true))])
            #expect(try journal.values(.all).map(\.id.rawValue) == [2])
            try journal.commit([.removed(Topic("/post/27"), EventID(3), Origin(), accepted: 3)])
            #expect(try journal.values(.all).isEmpty)
            #expect(try journal.lastID() == EventID(3))
        }
    }

    @Test func oneAnswerHoldsNoMoreThanItsLimit() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            for id: UInt64 in 1...20 {
                var event = try sample(id, topic: "/post/\(id)", retained: true)
                event.body = String(repeating: "x", count: 1 << 20)
                try journal.commit([.accepted(event)])
            }
            let page = try journal.history(.all, after: EventID(0), limit: 1000)
            #expect(page.map(\.id.rawValue) == [1, 2, 3])
            #expect(try journal.history(.all, after: EventID(18), limit: 1000).map(\.id.rawValue) == [19, 20])
            #expect(try journal.snapshot(.all) == nil)
            #expect(try journal.snapshot(TopicPrefix("/post/20"))?.count == 1)
        }
    }

    @Test func anEventKeepsAFewOfTheClaimsThatDecidedNothing() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let claim = ClaimRecord(claimant: ":1.2", latency: .milliseconds(1), form: .provisional, verdict: .recorded)
            try journal.commit([.accepted(try sample(1))] + Array(repeating: .claimed(EventID(1), claim), count: 40))
            #expect(try journal.claims(on: EventID(1)) == Array(repeating: claim, count: 16))
        }
    }

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

    @Test func theFileBelongsToItsUserAlone() throws {
        try withFolder { folder in
            let directory = folder + "/state/notifyd"
            let journal = try Journal(directory: directory)
            let file = try FileManager.default.attributesOfItem(atPath: journal.path)
            #expect((file[.posixPermissions] as? Int) == 0o600)
            let attributes = try FileManager.default.attributesOfItem(atPath: directory)
            #expect((attributes[.posixPermissions] as? Int) == 0o700)
        }
    }

    @Test func aSecondProcessIsTurnedAway() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1))])
            #expect(throws: JournalError.self) {
                let other = try Journal(directory: folder)
                try journal.write { db in
                    try other.commit([.accepted(try sample(2))])
                }
            }
        }
    }

    @Test func aFileThatIsNoJournalIsSetAside() throws {
        try withFolder { folder in
            try Data("this is no database, and it is longer than a header".utf8).write(
                to: URL(filePath: folder + "/events.db"))
            let journal = try Journal(directory: folder)
            let aside = try #require(journal.setAside)
            #expect(FileManager.default.fileExists(atPath: aside))
            try journal.commit([.accepted(try sample(1))])
            #expect(try journal.undecided().count == 1)
        }
    }

    @Test func aNewerFileIsRefusedAndLeftAlone() throws {
        try withFolder { folder in
            do {
                let journal = try Journal(directory: folder)
                try journal.write { db in try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
                journal.close()
            }
            #expect(throws: JournalError.tooNew) { try Journal(directory: folder) }
            #expect(FileManager.default.fileExists(atPath: folder + "/events.db"))
        }
    }

    @Test func anOlderFileIsBroughtUpToDate() throws {
        try withFolder { folder in
            do {
                let old = try DatabaseQueue(path: folder + "/events.db")
                try JournalSchema.migrator.migrate(old, upTo: "1")
                try old.write { db in
                    // A row as version 1 wrote it.
                    let event = try sample(7)
                    let fields = FieldCoding.encode(event.fields)
                    try db.execute(
                        sql: """
                            INSERT INTO event (id, topic, title, body, fields, published, sender, source, source_id,
                                urgency, retained, route, coalescing, window, accepted, expires, expires_uptime, boot,
                                checksum, outcome)
                            VALUES (7, '/post/27', 'Title', 'Mina has something to say 07', ?, 1000, ':1.5', 'test', '7',
                                1, 0, '/post/{id}', '/post/27', 100000, 1007, 9000000, 7000000, 'boot', ?, 0)
                            """,
                        arguments: [Data(fields), event.checksum(fields: fields)])
                }
                try old.close()
            }
            let journal = try Journal(directory: folder)
            #expect(journal.setAside == nil)
            #expect(try journal.undecided() == [try sample(7)])
            let origin = Origin(source: "test", eventID: "gone")
            try journal.commit([.removed(Topic("/post/27"), EventID(8), origin, accepted: 2_000)])
            #expect(
                try journal.named(after: .init(accepted: 0, id: EventID(0)), limit: 10).map(\.id) == [
                    EventID(7), EventID(8),
                ])
            #expect(journal.damagedRows == 0)
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

    @Test func undecidedEventsAreFoundByTopicAndById() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit(
                try (1...10).map { .accepted(try sample($0, topic: $0 % 2 == 0 ? "/post/27/reply" : "/run/r1")) })
            try journal.commit([.decided(EventID(2), StoredDecision(outcome: .shown, resolved: 1))])
            #expect(try journal.undecidedIDs().map(\.rawValue) == [1] + Array(3...10))
            #expect(try journal.undecided([2, 3, 4].map { EventID($0) }).map(\.id.rawValue) == [3, 4])
            #expect(try journal.undecided(TopicPrefix("/post/27")).map(\.id.rawValue) == [4, 6, 8, 10])
        }
    }

    @Test func everyFlippedByteOfARowIsNoticedAndOtherRowsStay() throws {
        try withFolder { folder in
            do {
                let journal = try Journal(directory: folder)
                try journal.commit(try (1...20).map { .accepted(try sample($0)) })
                try journal.write { _ in }
                journal.close()
            }
            let url = URL(filePath: folder + "/events.db")
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
}
