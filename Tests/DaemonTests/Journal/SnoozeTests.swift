import GRDB
import Routing
import Testing

@testable import Journal

/// Snoozed events on disk.
struct SnoozeTests {
    private static func snooze(_ id: UInt64) -> StoredSnooze {
        StoredSnooze(
            event: EventID(id), end: .init(moment: Expiry(wall: 1, uptime: 2, boot: "boot"), left: Int64(id)))
    }

    @Test func theLastOfWhatWasWrittenIsReadAgain() throws {
        try withFolder { folder in
            var journal = try Journal(directory: folder)
            #expect(try journal.snoozes() == [])
            try journal.commit([.snoozesReplaced([Self.snooze(1), Self.snooze(2)])])
            try journal.commit([.snoozesReplaced([Self.snooze(2), Self.snooze(3)])])
            journal.close()
            journal = try Journal(directory: folder)
            #expect(try journal.snoozes() == [Self.snooze(2), Self.snooze(3)])
        }
    }

    @Test func whatIsNotWhatWasWrittenIsLeftOut() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.snoozesReplaced([Self.snooze(1), Self.snooze(2)])])
            try journal.damage(.snoozesReplaced)
            #expect(try journal.snoozes().isEmpty)
            #expect(journal.damagedRows == 1)
        }
    }

    @Test func anIDThatIdentifiesABannerIsNotAssignedAgain() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let event = try sample(1, topic: "/post/1")
            let banner = StoredBanner(number: 7, server: "bus :1.7", first: EventID(5), isSummary: false)
            try journal.commit([.accepted(event), .bannerUp(banner)])
            #expect(try journal.lastID() == EventID(5))
            var decision = StoredDecision(outcome: .shown, resolved: 10)
            decision.shownWith = EventID(5)
            try journal.commit([.decided(event.id, decision), .bannerGone(7)])
            #expect(try journal.lastID() == EventID(5))
        }
    }

    @Test func whatIsShownAgainKeepsItsWindow() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let event = try sample(1, topic: "/post/1")
            var first = StoredDecision(outcome: .muted, resolved: 10)
            first.opened = 5
            first.deadline = 9
            first.cause = "muted"
            var again = StoredDecision(outcome: .shown, resolved: 90)
            again.banner = 7
            again.lateness = 3
            try journal.commit([.accepted(event), .decided(event.id, first), .decided(event.id, again)])
            let kept = try #require(try journal.event(event.id)?.decision)
            again.opened = 5
            again.deadline = 9
            // Nothing else tells later why it was not shown before.
            again.wasMuted = true
            #expect(kept == again)
        }
    }
}
