import Routing
import Testing

@testable import Journal

/// What nobody has seen, and what is marked as seen.
struct UnreadTests {
    private static func fill(_ journal: Journal, _ topics: [String], _ outcome: Outcome = .muted) throws {
        for (index, topic) in topics.enumerated() {
            let event = try sample(UInt64(index + 1), topic: topic)
            try journal.commit([.accepted(event), .decided(event.id, StoredDecision(outcome: outcome, resolved: 1))])
        }
    }

    /// All portions, each of at most `limit`.
    private static func unseen(_ journal: Journal, _ topic: String, upTo last: UInt64, limit: Int) throws -> [UInt64] {
        let prefix = try TopicPrefix(topic)
        var position: Journal.UnreadPosition? = Journal.UnreadPosition(before: prefix)
        var ids: [UInt64] = []
        while let start = position {
            let found = try journal.unseen(prefix, after: start, upTo: EventID(last), limit: limit)
            #expect(found.events.count <= limit)
            ids += found.events.map(\.id.rawValue)
            position = found.position
        }
        return ids.sorted()
    }

    @Test(arguments: [1, 2, 3, 100]) func portionsAreEverythingAtOrBelowATopic(_ limit: Int) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let topics = [
                "/post", "/post!", "/post/1", "/post/1", "/post/1/a", "/post/2", "/post0", "/chat", "/post/1",
            ]
            try Self.fill(journal, topics)
            func unseen(_ topic: String, _ last: UInt64 = 100) throws -> [UInt64] {
                try Self.unseen(journal, topic, upTo: last, limit: limit)
            }
            #expect(try unseen("/post") == [1, 3, 4, 5, 6, 9])
            #expect(try unseen("/post", .max) == [1, 3, 4, 5, 6, 9])
            #expect(try unseen("/post/1") == [3, 4, 5, 9])
            #expect(try unseen("/") == [1, 2, 3, 4, 5, 6, 7, 8, 9])
            #expect(try unseen("/", 4) == [1, 2, 3, 4])
            #expect(try unseen("/nothing") == [])
        }
    }

    @Test(arguments: [1, 2, 3, 100]) func portionsOfIdsAreEverythingUnread(_ limit: Int) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try Self.fill(journal, ["/post", "/post!", "/post/1", "/post/1", "/post/1/a", "/post0", "/chat"])
            try journal.commit([.accepted(try sample(100, topic: "/post/1")), .accepted(try sample(101, topic: "/z"))])
            func unread(_ topic: String) throws -> [UInt64] {
                let prefix = try TopicPrefix(topic)
                var position: Journal.UnreadIDPosition? = Journal.UnreadIDPosition(before: prefix)
                var ids: [UInt64] = []
                while let start = position {
                    let found = try journal.unreadIDs(prefix, after: start, limit: limit)
                    #expect(found.ids.count <= limit)
                    ids += found.ids.map(\.rawValue)
                    position = found.position
                }
                return ids.sorted()
            }
            #expect(try unread("/") == [1, 2, 3, 4, 5, 6, 7, 100, 101])
            #expect(try unread("/post") == [1, 3, 4, 5, 100])
            #expect(try unread("/post/1") == [3, 4, 5, 100])
            #expect(try unread("/nothing") == [])
        }
    }

    @Test(arguments: [1, 2, 3, 100]) func portionsOfACountMakeTheWhole(_ limit: Int) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let topics = [
                "/post", "/post!", "/post/1", "/post/1", "/post/1/a", "/post/2", "/post0", "/chat", "/post/1",
            ]
            try Self.fill(journal, topics)
            for (index, topic) in ["/chat", "/post/1", "/post/1", "/post/1/b"].enumerated() {
                try journal.commit([.accepted(try sample(UInt64(100 + index), topic: topic))])
            }
            func unread(_ topic: String) throws -> Int {
                let prefix = try TopicPrefix(topic)
                var position: Journal.UnreadPosition? = Journal.UnreadPosition(before: prefix)
                var count = 0
                while let start = position {
                    let portion = try journal.unread(prefix, after: start, limit: limit)
                    count += portion.count
                    position = portion.position
                }
                return count
            }
            #expect(try unread("/") == 13)
            #expect(try unread("/post") == 9)
            #expect(try unread("/post/1") == 7)
            #expect(try unread("/chat") == 2)
            #expect(try unread("/nothing") == 0)
        }
    }

    @Test func onlyWhatNobodyHasSeenIsFound() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            for (index, outcome) in Outcome.allCases.enumerated() {
                let event = try sample(UInt64(index + 1))
                try journal.commit([
                    .accepted(event), .decided(event.id, StoredDecision(outcome: outcome, resolved: 1)),
                ])
            }
            try journal.commit([.accepted(try sample(100))])
            let found = try Self.unseen(journal, "/", upTo: 100, limit: 10)
            let unread = found.map { Outcome.allCases[Int($0) - 1] }
            #expect(Set(unread) == [.shown, .muted, .expired])
            #expect(try journal.unread(.all) == 4)
        }
    }

    @Test(arguments: [Outcome.muted, .expired]) func whatIsMarkedKeepsItsOutcomeAndIsReadForGood(_ outcome: Outcome)
        throws
    {
        try withFolder { folder in
            var journal = try Journal(directory: folder)
            try Self.fill(journal, ["/post/1", "/post/2"], outcome)
            let marked = try #require(try journal.event(EventID(1))?.decision?.markedRead)
            #expect(marked.markedRead == nil)
            try journal.commit([.decided(EventID(1), marked)])
            journal.close()
            journal = try Journal(directory: folder)
            let decision = try #require(try journal.event(EventID(1))?.decision)
            #expect(decision.outcome == outcome)
            #expect(decision.isRead)
            #expect(try journal.unread(.all) == 1)
            #expect(try Self.unseen(journal, "/", upTo: 9, limit: 9) == [2])
            #expect(journal.damagedRows == 0)
        }
    }

    @Test func onlyWhatWasNeverShownIsMarked() {
        for outcome in Outcome.allCases where outcome != .muted && outcome != .expired {
            #expect(StoredDecision(outcome: outcome, resolved: 1).markedRead == nil)
        }
    }
}
