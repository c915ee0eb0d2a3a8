import Journal
import Routing
import Testing

@testable import NotifyDaemon

/// In which order replies and signals leave. What is decided in one turn leaves together, and keeps its order all the
/// same.
struct ReplyOrderTests {
    private let bus = SlowBus()

    private var kinds: [String] {
        bus.sent.map { message in
            switch message {
            case .accepted, .verdict, .count, .refused: "reply"
            case .event: "event"
            case .resolved: "resolved"
            case .removed, .action: "other"
            }
        }
    }

    /// Whoever has all his replies, and listens from then on, hears nothing of what he pushed before.
    @Test func theSignalsOfWhatIsAcceptedLeaveBeforeTheNextReply() {
        for title in ["first", "second", "third"] { bus.publish(title: title, body: "") }
        bus.endTurn()
        #expect(kinds == ["reply", "event", "reply", "event", "reply", "event"])
    }

    @Test func whoClaimsHearsOfItBeforeEverybodyElse() throws {
        bus.publish(World.topics[0], window: .seconds(1))
        bus.endTurn()
        let claimed = try #require(bus.accepted.first)
        bus.publish(title: "second", body: "")
        bus.claim(claimed)
        bus.endTurn()
        #expect(kinds == ["reply", "event", "reply", "event", "reply", "resolved"])
    }

    /// A reader who listens has heard of all that he reads.
    @Test func whatSomebodyReadsStaysBehindTheSignalsOfWhatItTellsOf() {
        bus.publish(title: "first", body: "")
        bus.daemon.sendAfterCommit(.reply(.verdict(.recorded), to: bus.calls.make()))
        bus.endTurn()
        #expect(kinds == ["reply", "event", "reply"])
        #expect(bus.sent.last == .verdict(.recorded))
    }

    @Test func whoIsRefusedBecauseOfTheDiskHearsItAndNobodyElseHearsAnything() {
        for title in ["first", "second"] { bus.publish(title: title, body: "") }
        bus.disk.condition = .failsOnce
        bus.endTurn()
        #expect(kinds == ["reply", "reply"])
        #expect(bus.sent.allSatisfy { if case .refused(.storageUnavailable) = $0 { true } else { false } })
        let counts = Dictionary(uniqueKeysWithValues: bus.daemon.statistics)
        #expect(counts["published"] == 0 && counts["refused"] == 2)
    }
}

/// Repeats of events that the router has forgotten.
struct GlobalIDTests {
    private func name(_ id: String, of source: String = "chat") -> Origin { Origin(source: source, eventID: id) }

    @Test func aRepeatIsRecognisedAsLongAsTheEventIsInTheJournal() {
        var limits = Limits()
        limits.globalIDs = 1
        let bus = SlowBus(limits: limits)
        for id in ["1", "2", "1", "2"] {
            bus.publish(name(id))
            bus.endTurn()
        }
        #expect(bus.accepted.count == 4)
        #expect(bus.accepted[2...] == bus.accepted[..<2])
        #expect(bus.stored == 2)
    }

    @Test func aRepeatIsRecognisedAfterItsTimeInMemory() {
        var limits = Limits()
        limits.deduplicationTime = .seconds(10)
        let bus = SlowBus(limits: limits)
        for pause in [9, 2, 30, 0] {
            bus.publish(name("1"))
            bus.endTurn()
            bus.sleep(.seconds(pause))
        }
        #expect(Set(bus.accepted).count == 1)
        #expect(bus.stored == 1)
    }

    @Test func anEventWithoutANameIsCalledByDeviceAndID() {
        let bus = SlowBus()
        let source = "notifyd:" + bus.daemon.router.device
        bus.publish(Origin(source: "chat"))
        let unnamed = bus.daemon.router.lastID
        bus.publish(name("1"))
        let named = bus.daemon.router.lastID
        // The turn goes on, and what it accepted is known.
        bus.publish(name("\(unnamed)", of: source))
        bus.publish(name("\(named)", of: source))
        bus.endTurn()
        bus.publish(name("\(unnamed)", of: source))
        bus.publish(name("\(unnamed)", of: "notifyd:another"))
        bus.endTurn()
        let accepted = bus.accepted
        #expect(accepted[..<3] == [unnamed, named, unnamed])
        #expect(accepted[3] > named, "it has another name")
        #expect(accepted[4] == unnamed)
        #expect(accepted[5] > accepted[3], "another device")
    }

    @Test func aNameOfThisDeviceIsNotTakenInAdvance() {
        let bus = SlowBus()
        let source = "notifyd:" + bus.daemon.router.device
        bus.publish(Origin())
        let last = bus.daemon.router.lastID.rawValue
        let forged = ["\(last + 1)", "\(last + 2)", "\(UInt64.max)", "0\(last)", "+\(last)", "x", "-1", "1\u{301}"]
        for text in forged { bus.publish(name(text, of: source)) }
        bus.endTurn()
        let refusals = bus.sent.filter {
            guard case .refused(.invalidEvent(let text)) = $0 else { return false }
            return text.contains("names of this device are given by it")
        }
        #expect(refusals.count == forged.count)
        #expect(bus.stored == 1)
        #expect(bus.daemon.router.statistics[.refused] == UInt64(forged.count))
        // An event that a journal has lost comes back under its name, once.
        for _ in 1...2 { bus.publish(name("1", of: source)) }
        bus.endTurn()
        #expect(bus.stored == 2)
    }

    @Test func anEventOfAnEarlierRunIsCalledSoToo() {
        let bus = SlowBus { disk in disk.keepShown(7, World.topics[0], in: 1, of: 7) }
        bus.publish(name("7", of: "notifyd:" + bus.daemon.router.device))
        bus.endTurn()
        #expect(bus.accepted == [EventID(7)])
    }
}

/// What is marked as read may be a whole history: it is marked a portion a turn, and others are served between turns.
struct ReadMarkTests {
    @Test func aLargeMarkTakesManyTurnsAndIsAnsweredWhenAllOfItIsWritten() {
        let bus = SlowBus()
        bus.keepMuted(1000)
        bus.markRead(.all)
        var turns = 0
        var unread = bus.unread
        while bus.endOneTurn() {
            turns += 1
            #expect(unread - bus.unread <= ReadMarks.portion)
            unread = bus.unread
            #expect(bus.sent.contains(.count(1000)) == (unread == 0), "turn \(turns), \(unread) unread")
        }
        #expect(turns >= 1000 / ReadMarks.portion)
        #expect(unread == 0)
    }

    @Test func aSmallMarkDoesNotWaitForALargeOne() {
        let bus = SlowBus()
        bus.keepMuted(1000)
        bus.markRead(.all)
        _ = bus.endOneTurn()
        bus.markRead(try! TopicPrefix("/nothing"))
        bus.endTurn()
        let counts = bus.sent.filter { if case .count = $0 { true } else { false } }
        #expect(counts == [.count(0), .count(1000)])
    }

    /// The number that each event was shown with says nothing: the banner is one.
    @Test func aBannerThatWasRenumberedIsClosedByAMark() {
        let bus = SlowBus()
        bus.keepRenumberedBanner(3, 7)
        bus.startServer()
        bus.markRead(.all)
        bus.endTurn()
        #expect(bus.machine.closed == [BannerID(7)])
        #expect(bus.unread == 0)
    }

    @Test func whileTheDiskIsBrokenNobodyWaitsForAMark() {
        let bus = SlowBus()
        bus.keepMuted(1000)
        bus.markRead(.all)
        _ = bus.endOneTurn()
        bus.disk.condition = .broken
        bus.endTurn()
        let refusals = bus.sent.filter { if case .refused(.storageUnavailable) = $0 { true } else { false } }
        #expect(refusals.count == 1)
        bus.markRead(.all)
        #expect(bus.sent.count == 2)
    }

    @Test func oneConnectionDoesNotTakeAllTheRoom() throws {
        let marks = ReadMarks()
        func mark(_ claimant: String) -> MarkReadJob {
            MarkReadJob(
                topic: .all, upTo: EventID(1), claimant: claimant, form: .topic, owner: claimant, call: nil, count: 0,
                position: Journal.UnreadPosition(before: .all))
        }
        for _ in 0..<ReadMarks.limitPerProgram {
            try marks.requireRoom(for: ":1.1")
            marks.enqueue(mark(":1.1"))
        }
        #expect(throws: Refusal.self) { try marks.requireRoom(for: ":1.1") }
        try marks.requireRoom(for: ":1.2")
        _ = marks.takeNext()
        try marks.requireRoom(for: ":1.1")
    }
}

/// A disk that fails while the daemon runs, or before.
struct BrokenDiskTests {
    @Test func aClaimOfAnEventThatCannotBeLookedUpIsRefused() {
        let bus = SlowBus { $0.condition = .broken }
        let refusal = #expect(throws: Refusal.self) {
            try bus.daemon.answer(.claimed(EventID(1), by: ":1.2"), to: bus.calls.make())
        }
        guard case .storageUnavailable(let text)? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(text.contains("cannot be read: ") && !text.hasSuffix(": "))
    }

    @Test func aClaimOfAnEventThatTheDiskDoesNotGiveIsRefused() {
        let bus = SlowBus { $0.keepMuted(1) }
        bus.disk.condition = .unreadable
        let refusal = #expect(throws: Refusal.self) {
            try bus.daemon.answer(.claimed(EventID(1), by: ":1.2"), to: bus.calls.make())
        }
        guard case .storageUnavailable? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test func whileOnlyWritingFailsAnEventIsLookedUp() throws {
        let bus = SlowBus()
        bus.keepMuted(1)
        bus.disk.condition = .readOnly
        bus.publish(World.topics[0], window: .seconds(60))
        bus.endTurn()
        #expect(!bus.daemon.storage.degradation.isEmpty)
        try bus.daemon.answer(.claimed(EventID(1), by: ":1.2"), to: bus.calls.make())
        let unknown = #expect(throws: Refusal.self) {
            try bus.daemon.answer(.claimed(EventID(2), by: ":1.2"), to: bus.calls.make())
        }
        guard case .unknownEvent? = unknown else {
            Issue.record("\(String(describing: unknown))")
            return
        }
    }

    @Test func whoeverStopsWhileDegradedTriesOnceMoreToWrite() throws {
        let bus = SlowBus()
        bus.publish(World.topics[0], window: .seconds(60))
        bus.endTurn()
        let id = try #require(bus.accepted.first)
        bus.disk.condition = .broken
        bus.claim(id)
        bus.daemon.handle(.quieted(nil, for: .zero))
        bus.endTurn()
        #expect(!bus.daemon.storage.degradation.isEmpty)
        #expect(bus.disk.contents.events[id]?.decision == nil)
        bus.disk.condition = .well
        bus.daemon.finish()
        #expect(bus.disk.contents.events[id]?.decision?.outcome == .claimed)
        #expect(bus.disk.contents.quiet.map(\.cause) == [.paused])
    }

    /// A full disk takes no event, and everything of earlier runs is decided.
    @Test func onADiskThatIsFullAtTheStartWhatIsOpenIsDecided() throws {
        let bus = SlowBus { disk in
            disk.keep([.accepted(disk.event(1, World.topics[0]))])
            disk.condition = .full(room: 0)
        }
        #expect(bus.daemon.storage.degradation.contains("full"))
        #expect(bus.daemon.router.remembers(EventID(1)))
        bus.claim(EventID(1))
        bus.endTurn()
        #expect(bus.disk.contents.events[EventID(1)]?.decision?.outcome == .claimed, "the log has room for it")
        bus.disk.condition = .well
        bus.daemon.jobs.retry.retry(bus.daemon)
        #expect(bus.daemon.storage.degradation.isEmpty)
        #expect(bus.disk.contents.events[EventID(1)]?.decision?.outcome == .claimed)
    }
}
