import Routing
import Testing

@testable import Journal

/// The periods that owe a digest, and what it counts.
struct DigestTests {
    private func digest(_ topic: String, _ began: Int64) throws -> OwedDigest {
        OwedDigest(ActiveSchedule.Period(try TopicPrefix(topic), began: began), name: EventID(8), first: EventID(7))
    }

    @Test func theLastOfWhatWasWrittenIsReadAgain() throws {
        try withFolder { folder in
            var journal = try Journal(directory: folder)
            #expect(try journal.digests() == [])
            try journal.commit([.digestsReplaced([digest("/", 1), digest("/post", 1)])])
            try journal.commit([.digestsReplaced([digest("/", 1), digest("/", 2)])])
            journal.close()
            journal = try Journal(directory: folder)
            #expect(Set(try journal.digests()) == [try digest("/", 1), try digest("/", 2)])
        }
    }

    @Test func whatIsNotWhatWasWrittenIsLeftOut() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.digestsReplaced([digest("/", 1), digest("/post", 1)])])
            try journal.damage(.digestsReplaced)
            #expect(try journal.digests().isEmpty)
            #expect(journal.damagedRows == 1)
        }
    }

    @Test func mutedEventsAreFoundInPortionsUnlessTheyAreRead() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            var entries: [Record] = []
            for id in UInt64(1)...10 {
                let event = try sample(id, topic: "/post/\(id)")
                let decision = StoredDecision(outcome: id % 2 == 0 ? .muted : .shown, resolved: 1)
                entries += [.accepted(event), .decided(event.id, decision)]
            }
            try journal.commit(entries)
            let read = try #require(try journal.event(EventID(6))?.decision?.markedRead)
            try journal.commit([.decided(EventID(6), read)])
            var found: [UInt64] = []
            var position: EventID? = EventID(2)
            var portions = 0
            while let start = position {
                let portion = try journal.muted(after: start, limit: 3)
                found += portion.events.map(\.id.rawValue)
                position = portion.position
                portions += 1
            }
            #expect(found == [4, 8, 10])
            #expect(portions == 3)
        }
    }
}
