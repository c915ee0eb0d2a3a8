import GRDB
import Routing
import Testing

@testable import Journal

/// Pauses and mutes on disk.
struct QuietTests {
    private static func mute(_ topic: String, wall: Int64, uptime: Int64, left: Int64) throws -> StoredQuiet {
        let moment = Expiry(wall: wall, uptime: uptime, boot: "boot")
        return StoredQuiet(topic: try TopicPrefix(topic), cause: .muted, end: .init(moment: moment, left: left))
    }

    @Test func theLastOfWhatWasWrittenIsReadAgain() throws {
        try withFolder { folder in
            let pause = StoredQuiet(topic: .all, cause: .paused, end: nil)
            let mutes = try (1...3).map { try Self.mute("/post/\($0)", wall: 1, uptime: 2, left: 3) }
            var journal = try Journal(directory: folder)
            #expect(try journal.quiet() == [])
            try journal.commit([.quietReplaced([pause] + mutes)])
            let lifted = StoredQuiet(topic: .all, cause: .schedule, end: nil, began: 7)
            try journal.commit([.quietReplaced([mutes[1], pause, lifted])])
            journal.close()
            journal = try Journal(directory: folder)
            #expect(try journal.quiet() == [mutes[1], pause, lifted])
            try journal.commit([.quietReplaced([])])
            #expect(try journal.quiet() == [])
        }
    }

    @Test func whatIsNotWhatWasWrittenIsLeftOut() throws {
        try withFolder { folder in
            let mutes = try ["/post", "/chat"].map { try Self.mute($0, wall: 1, uptime: 2, left: 3) }
            let journal = try Journal(directory: folder)
            try journal.commit([.quietReplaced(mutes)])
            try journal.damage(.quietReplaced)
            #expect(try journal.quiet().isEmpty)
            #expect(journal.damagedRows == 1)
        }
    }

    /// Within a boot the wall clock does not count; after another one it has to, but prolongs nothing.
    @Test func aClockThatIsSetNeitherLiftsNorProlongs() throws {
        let end = try #require(try Self.mute("/post", wall: 1_000_000, uptime: 500, left: 300).end)
        for wall: Int64 in [0, 999_900, 90_000_000] {
            #expect(end.left(wall: wall, uptime: 400, boot: "boot") == .microseconds(100))
        }
        #expect(end.left(wall: 999_900, uptime: 1, boot: "another") == .microseconds(100))
        #expect(end.left(wall: 0, uptime: 1, boot: "another") == .microseconds(300))
        #expect(end.left(wall: 1_000_001, uptime: 1, boot: "another") < .zero)
    }
}
