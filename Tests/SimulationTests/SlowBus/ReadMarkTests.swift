import Journal
import Routing
import Testing

@testable import NotifyDaemon

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
            marks.put(mark(":1.1"))
        }
        #expect(throws: Refusal.self) { try marks.requireRoom(for: ":1.1") }
        try marks.requireRoom(for: ":1.2")
        _ = marks.takeNext()
        try marks.requireRoom(for: ":1.1")
    }
}
