import Foundation
import GRDB
import Routing

@testable import Journal

/// A journal whose file has pages of every kind, and what was written to it.
struct KnownJournal: Sendable {
    /// A quarter of what SQLite chooses by itself, in bytes: so pages of every kind are a small file.
    static let pageSize = 1024
    static let events = 1...30 as ClosedRange<UInt64>
    static let removals = 31...35 as ClosedRange<UInt64>

    /// What is on the disk after it was closed.
    private(set) var file = Data()
    private(set) var events: [EventID: StoredEvent] = [:]
    private(set) var claims: [EventID: ClaimRecord] = [:]
    private(set) var values: [EventID] = []
    private(set) var undecided: [EventID] = []
    private(set) var quiet: [StoredQuiet] = []
    private(set) var banners: [StoredBanner] = []
    private(set) var snoozes: [StoredSnooze] = []
    /// What has a name: events and removals.
    private(set) var named: [EventID] = []

    init() throws {
        try withFolder { folder in
            let path = "\(folder)/\(Journal.fileName)"
            let queue = try DatabaseQueue(path: path)
            // The size is only kept once there is a page.
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA page_size = \(Self.pageSize); PRAGMA user_version = 0")
            }
            try queue.close()
            let journal = try Journal(directory: folder)
            for number in Self.events { try write(number, journal) }
            for number in Self.removals {
                let origin = Origin(source: "test", eventID: "removal \(number)")
                try journal.commit([removal(Topic("/gone"), EventID(number), origin, accepted: 1_000 + Int64(number))])
                named.append(EventID(number))
            }
            try writeQuiet(journal)
            for number in [7, 8] as [UInt32] {
                let banner = StoredBanner(
                    number: number, server: "bus :1.7", first: EventID(UInt64(number)), isSummary: number == 8)
                try journal.commit([.bannerUp(banner)])
                banners.insert(banner, at: 0)
            }
            try writeSnoozes(journal)
            try makeFreePages(journal)
            values = try journal.values(.all).map(\.id)
            journal.close()
            file = try Data(contentsOf: URL(filePath: path))
        }
    }

    /// So long that an index of topics needs several pages.
    private static let longTopic = "/other" + String(repeating: "/" + String(repeating: "x", count: 60), count: 3)

    private mutating func write(_ number: UInt64, _ journal: Journal) throws {
        let topic = ["/post/1", "/post/2/reply", "/run/r1/mate/Mina", Self.longTopic + "/\(number)"][Int(number % 4)]
        var event = try sample(number, topic: topic, retained: number % 7 == 0)
        if number % 6 == 0 { event.collapse = "progress" }
        // More than a page.
        if number % 15 == 0 { event.body = String(repeating: "Mina has a lot to say. ", count: 100) }
        try journal.commit([.accepted(event)])
        if number % 5 == 0 {
            let claim = ClaimRecord(claimant: ":1.9", latency: .milliseconds(30), form: .claim, verdict: .recorded)
            try journal.commit([.claimed(event.id, claim)])
            claims[event.id] = claim
        }
        if number % 3 == 0 {
            undecided.append(event.id)
        } else {
            var decision = StoredDecision(outcome: number % 2 == 0 ? .claimed : .shown, resolved: 5_000)
            decision.claimant = ":1.7"
            decision.latency = 30_000
            decision.banner = 7
            decision.cause = "a cause"
            if number % 5 == 0 { decision.action = "accept" }
            if number % 4 == 0 { decision.program = "feed.service" }
            try journal.commit([.decided(event.id, decision)])
            event.decision = decision
        }
        named.append(event.id)
        events[event.id] = event
    }

    private mutating func writeQuiet(_ journal: Journal) throws {
        let end = StoredQuiet.End(moment: Expiry(wall: 1, uptime: 2, boot: "boot"), left: 3)
        quiet =
            try [StoredQuiet(topic: .all, cause: .paused, end: nil)]
            + ["/post", "/run/r1"].map { StoredQuiet(topic: try TopicPrefix($0), cause: .muted, end: end) }
            + [StoredQuiet(topic: .all, cause: .schedule, end: nil, began: 7)]
        try journal.commit([.quietReplaced(quiet)])
    }

    private mutating func writeSnoozes(_ journal: Journal) throws {
        let end = StoredQuiet.End(moment: Expiry(wall: 1, uptime: 2, boot: "boot"), left: 3)
        snoozes = [4, 8].map { StoredSnooze(event: EventID($0), end: end) }
        try journal.commit([.snoozesReplaced(snoozes)])
    }

    /// Has pages that were used once, and whose content is still there.
    private func makeFreePages(_ journal: Journal) throws {
        let decision = StoredDecision(outcome: .shown, resolved: 1)
        var old = try sample(0, topic: "/old")
        old.accepted = 0
        old.body = String(repeating: "Mina had a lot to say. ", count: 200)
        try journal.commit([.accepted(old), .decided(old.id, decision)])
        let count = try journal.expire(olderThan: .seconds(1), keeping: Self.events.count).count
        precondition(count == 1, "the old event is deleted")
    }
}
