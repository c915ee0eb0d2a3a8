import GRDB
import Routing
import Testing

@testable import Journal

/// What the journal knows of banners that are up.
struct BannerTests {
    private func banner(_ number: UInt32, first: UInt64, isSummary: Bool = false) -> StoredBanner {
        StoredBanner(number: number, server: "bus :1.7", first: EventID(first), isSummary: isSummary)
    }

    private func shown(with first: UInt64) -> StoredDecision {
        var decision = StoredDecision(outcome: .shown, resolved: 5_000)
        decision.opened = 1_000
        decision.deadline = 401_000
        decision.isReplayed = true
        decision.shownWith = EventID(first)
        return decision
    }

    @Test func bannersAreThereAfterOpeningAgain() throws {
        try withFolder { folder in
            do {
                let journal = try Journal(directory: folder)
                try journal.commit(try (1...4).map { .accepted(try sample($0)) })
                try journal.commit([
                    .bannerUp(banner(7, first: 1)), .decided(EventID(1), shown(with: 1)),
                    .decided(EventID(2), shown(with: 1)), .bannerUp(banner(8, first: 3, isSummary: true)),
                    .decided(EventID(3), shown(with: 3)),
                ])
                journal.close()
            }
            let journal = try Journal(directory: folder)
            #expect(try journal.banners() == [banner(8, first: 3, isSummary: true), banner(7, first: 1)])
            #expect(try journal.shown(in: banner(7, first: 1), limit: 10).map(\.id.rawValue) == [1, 2])
            #expect(try journal.shown(in: banner(7, first: 1), limit: 1).map(\.id.rawValue) == [2])
            #expect(try journal.banner(startingWith: EventID(3))?.number == 8)
            #expect(try journal.banner(startingWith: EventID(2)) == nil)
            #expect(journal.damagedRows == 0)
        }
    }

    @Test func whatIsClaimedOrGoneOrSnoozedIsNotBehindItAnyMore() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit(try (1...2).map { .accepted(try sample($0)) })
            try journal.commit([
                .bannerUp(banner(7, first: 1)), .decided(EventID(1), shown(with: 1)),
                .decided(EventID(2), shown(with: 1)),
            ])
            try journal.commit([.decided(EventID(1), StoredDecision(outcome: .retracted, resolved: 6_000))])
            #expect(try journal.shown(in: banner(7, first: 1), limit: 10).map(\.id.rawValue) == [2])
            try journal.commit([.bannerGone(7), .bannerUp(banner(9, first: 1))])
            #expect(try journal.banners() == [banner(9, first: 1)])
            #expect(try journal.shown(in: banner(9, first: 1), limit: 10).map(\.id.rawValue) == [2])
            let due = Expiry(wall: 1, uptime: 2, boot: "boot")
            try journal.commit([
                .snoozesReplaced([StoredSnooze(event: EventID(2), end: .init(moment: due, left: 1))])
            ])
            #expect(try journal.shown(in: banner(9, first: 1), limit: 10).isEmpty)
            try journal.commit([.allBannersGone])
            #expect(try journal.banners().isEmpty)
        }
    }

    /// A claim in a later run, under another clock, made 400 ms into 0.
    @Test(arguments: [Outcome.retracted, .dismissed])
    func aLaterOutcomeLeavesTheWindowAsItWas(_ outcome: Outcome) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1)), .decided(EventID(1), shown(with: 1))])
            try journal.commit([.decided(EventID(1), StoredDecision(outcome: outcome, resolved: 9_000))])
            let decision = try journal.event(EventID(1))?.decision
            #expect(decision?.outcome == outcome)
            #expect(decision?.opened == 1_000)
            #expect(decision?.deadline == 401_000)
            #expect(decision?.isReplayed == true)
        }
    }

    @Test(arguments: [Outcome.retracted, .dismissed])
    func aLaterOutcomeLeavesWhatTheBannerWaitedFor(_ outcome: Outcome) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            var first = shown(with: 1)
            first.isOfEarlierBoot = true
            first.lateness = 37_000_000
            first.count = 2
            first.delay = .absent
            try journal.commit([.accepted(try sample(1)), .decided(EventID(1), first)])
            var later = StoredDecision(outcome: outcome, resolved: 9_000)
            later.verdict = outcome == .retracted ? .recorded : nil
            try journal.commit([.decided(EventID(1), later)])
            let decision = try #require(try journal.event(EventID(1))?.decision)
            #expect(decision.lateness == 37_000_000)
            #expect(decision.count == 2)
            #expect(decision.delay == .absent)
            #expect(decision.verdict == (outcome == .retracted ? .recorded : nil))
            #expect(decision.isOfEarlierBoot)
            #expect(journal.damagedRows == 0)
        }
    }

    @Test func aClaimOfWhichNoClockKnowsTheTimeIsKept() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let claim = ClaimRecord(claimant: ":1.2", latency: nil, form: .claim, verdict: .recorded)
            try journal.commit([.accepted(try sample(1)), .claimed(EventID(1), claim)])
            #expect(try journal.claims(on: EventID(1)) == [claim])
            #expect(journal.damagedRows == 0)
        }
    }

    @Test func bannersThatNeverEndAreNotKeptForEver() throws {
        var limits = Limits()
        limits.retractableEvents = 10
        try withFolder { folder in
            let journal = try Journal(directory: folder, limits: limits)
            for number in 1...1000 as ClosedRange<UInt32> {
                try journal.commit([.bannerUp(banner(number, first: UInt64(number)))])
            }
            #expect(try journal.banners().map(\.number) == (991...1000).reversed())
            #expect(try journal.read { db in try StateTable(db: db).count(.bannerUp) } < 200)
        }
    }

    @Test func aDamagedBannerIsLeftOutAndCounted() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.bannerUp(banner(7, first: 1)), .bannerUp(banner(8, first: 2))])
            try journal.damage("state", where: "key = x'0900000007'")
            journal.close()
            let again = try Journal(directory: folder)
            #expect(try again.banners() == [banner(8, first: 2)])
            #expect(again.damagedRows == 1)
        }
    }

    /// However long the history is, a start looks only at what is up.
    @Test func whatIsUpIsFoundByItsIndexes() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let plan = try journal.read { db in
                try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(Journal.shownQuery)", arguments: [1, 1])
                    .map { $0["detail"] as String }
            }
            #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
        }
    }
}
