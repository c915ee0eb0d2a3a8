import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// What an outcome leaves of an earlier one, and which events it concerns. That everything is found again as it was
/// written is shown by `StoreModelTests`.
struct OutcomeTests {
    private let folder = Fixture.folder

    private func replaceable(_ id: UInt64, topic: String = "/post/27") throws -> StoredEvent {
        var event = try sample(id, topic: topic)
        event.collapse = "k"
        return event
    }

    /// A claim in a later run, under another clock, made 400 ms into 0.
    @Test(.folder, arguments: [Outcome.retracted, .dismissed])
    func aLaterOutcomeLeavesTheWindowAndWhatTheBannerWaitedFor(_ outcome: Outcome) throws {
        let journal = try Journal(directory: folder)
        var first = StoredDecision(outcome: .shown, resolved: 5_000)
        (first.opened, first.deadline, first.lateness) = (1_000, 401_000, 37_000_000)
        (first.isReplayed, first.isOfEarlierBoot) = (true, true)
        (first.shownWith, first.count, first.delay) = (EventID(1), 2, .absent)
        var later = StoredDecision(outcome: outcome, resolved: 9_000)
        later.verdict = outcome == .retracted ? .recorded : nil
        try journal.commit([.accepted(try sample(1)), .decided(EventID(1), first)])
        try journal.commit([.decided(EventID(1), later)])
        let decision = try #require(try journal.event(EventID(1))?.decision)
        #expect(decision.outcome == outcome && decision.verdict == later.verdict)
        #expect(decision.opened == 1_000 && decision.deadline == 401_000 && decision.lateness == 37_000_000)
        #expect(decision.isReplayed && decision.isOfEarlierBoot)
        #expect(decision.count == 2 && decision.delay == .absent)
    }

    @Test(.folder) func whatIsShownAgainKeepsItsWindow() throws {
        let journal = try Journal(directory: folder)
        let event = try sample(1, topic: "/post/1")
        var first = StoredDecision(outcome: .muted, resolved: 10)
        (first.opened, first.deadline, first.cause) = (5, 9, "muted")
        var again = StoredDecision(outcome: .shown, resolved: 90)
        (again.banner, again.lateness) = (7, 3)
        try journal.commit([.accepted(event), .decided(event.id, first), .decided(event.id, again)])
        // Nothing else tells later why it was not shown before.
        (again.opened, again.deadline, again.wasMuted) = (5, 9, true)
        #expect(try journal.event(event.id)?.decision == again)
    }

    @Test(.folder) func onlyAnUndecidedOrShownEventIsReplaced() throws {
        let journal = try Journal(directory: folder)
        let key = CollapseKey(topic: try Topic("/post/27"), text: "k")
        for (index, outcome) in Outcome.allCases.enumerated() {
            let id = EventID(UInt64(index + 1))
            try journal.commit([
                .accepted(try replaceable(id.rawValue)), .decided(id, .init(outcome: outcome, resolved: 1)),
            ])
            let found = try journal.replaceable(key)?.id
            #expect(found == (outcome == .shown ? id : nil), "\(outcome)")
            if outcome == .shown { try journal.commit([.decided(id, .init(outcome: .retracted, resolved: 1))]) }
        }
        try journal.commit([.accepted(try replaceable(100)), .accepted(try replaceable(101, topic: "/post/28"))])
        #expect(try journal.replaceable(key)?.id == EventID(100))
        #expect(try journal.replaceable(CollapseKey(topic: key.topic, text: "K")) == nil)
    }

    @Test(.folder) func whatIsReplacedKeepsTheNameThatItsClaimantGotInTheSameTurn() throws {
        let journal = try Journal(directory: folder)
        var muted = StoredDecision(outcome: .muted, resolved: 1)
        muted.claimant = ":1.7"
        try journal.commit([.accepted(try replaceable(1)), .decided(EventID(1), muted)])
        try journal.commit([.named(":1.7", "firefox", EventID(1)), .accepted(try replaceable(2))])
        let decision = try #require(try journal.event(EventID(1))?.decision)
        #expect(decision.isRead && decision.program == "firefox")
    }

    @Test(.folder) func onlyWhatNobodyHasSeenIsUnread() throws {
        let journal = try Journal(directory: folder)
        for (index, outcome) in Outcome.allCases.enumerated() {
            let event = try sample(UInt64(index + 1))
            try journal.commit([
                .accepted(event), .decided(event.id, StoredDecision(outcome: outcome, resolved: 1)),
            ])
        }
        try journal.commit([.accepted(try sample(100))])
        let found = try journal.unseen(.all, after: .init(before: .all), upTo: EventID(100), limit: 100).events
        #expect(Set(found.compactMap(\.decision?.outcome)) == [.shown, .muted, .expired])
        #expect(try journal.unread(.all) == 4)
    }

    @Test func onlyWhatWasNeverShownIsMarked() {
        for outcome in Outcome.allCases where outcome != .muted && outcome != .expired {
            #expect(StoredDecision(outcome: outcome, resolved: 1).markedRead == nil)
        }
    }
}

/// What is kept beside the events.
struct StateTests {
    private let folder = Fixture.folder

    private func banner(_ number: UInt32) -> Record {
        .bannerUp(
            StoredBanner(number: number, server: "bus :1.7", first: EventID(UInt64(number)), isSummary: false))
    }

    private func remove(_ topic: String, _ id: UInt64) throws -> Record {
        removal(try Topic(topic), EventID(id), Origin(source: "x", eventID: "\(id)"), accepted: 1, published: 1)
    }

    /// How many there are of each kind.
    private func counts(_ journal: Journal) throws -> [Int] {
        [
            try journal.quiet().count, try journal.snoozes().count, try journal.digests().count,
            try journal.banners().count, try journal.tombstones().count,
        ]
    }

    /// Of banners and removals each has a row, of the others all have one.
    @Test(
        .folder,
        arguments: [
            ("key = x'06'", [0, 1, 1, 2, 2]), ("key = x'07'", [1, 0, 1, 2, 2]), ("key = x'08'", [1, 1, 0, 2, 2]),
            ("key = x'0900000007'", [1, 1, 1, 1, 2]), ("key = x'102F61'", [1, 1, 1, 2, 1]),
        ])
    func aDamagedRowIsLeftOutAndCounted(_ row: String, left: [Int]) throws {
        let end = StoredQuiet.End(moment: Expiry(wall: 1, uptime: 2, boot: "boot"), left: 3)
        let journal = try Journal(directory: folder)
        try journal.commit([
            .quietReplaced([StoredQuiet(topic: .all, cause: .paused, end: nil)]),
            .snoozesReplaced([StoredSnooze(event: EventID(1), end: end)]),
            .digestsReplaced([OwedDigest(.init(.all, began: 1), name: EventID(8), first: EventID(7))]),
            banner(7), banner(8), try remove("/a", 1), try remove("/b", 2),
        ])
        #expect(try counts(journal) == [1, 1, 1, 2, 2])
        try journal.damage("state", where: row)
        journal.close()
        let again = try Journal(directory: folder)
        #expect(try counts(again) == left)
        #expect(again.damagedRows == 1)
    }

    @Test(.folder) func bannersThatNeverEndAreNotKeptForEver() throws {
        var limits = Limits()
        limits.retractableEvents = 10
        let journal = try Journal(directory: folder, limits: limits)
        for number in 1...1000 as ClosedRange<UInt32> { try journal.commit([banner(number)]) }
        #expect(try journal.banners().map(\.number) == (991...1000).reversed())
        #expect(try journal.read { db in try StateTable(db: db).count(.bannerUp) } < 200)
    }

    @Test(.folder) func theOldestRemovalsMakeRoom() throws {
        var limits = Limits()
        limits.removals = 3
        let journal = try Journal(directory: folder, limits: limits)
        for id in 1...5 as ClosedRange<UInt64> { try journal.commit([try remove("/\(id)", id)]) }
        #expect(try journal.tombstones().map(\.removal.rawValue) == [3, 4, 5])
        #expect(journal.tombstoneCount == 3)
    }
}
