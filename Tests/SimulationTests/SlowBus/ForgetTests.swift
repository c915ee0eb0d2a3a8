import Journal
import NotifyTestSupport
import Routing
import Testing

@testable import NotifyDaemon

/// What is forgotten may be a whole history: a portion is deleted a turn, and others are served between turns.
struct ForgetTests {
    @Test func aLargeHistoryTakesManyTurnsAndTheCallIsAnsweredAtTheEnd() {
        let bus = SlowBus()
        bus.keepMuted(1000)
        bus.forget(.all)
        var turns = 0
        var stored = bus.stored
        while bus.endOneTurn() {
            turns += 1
            #expect(stored - bus.stored <= ForgetQueue.portion)
            stored = bus.stored
            if stored > 0 { #expect(!bus.sent.contains(.count(1000))) }
        }
        #expect(turns >= 1000 / ForgetQueue.portion)
        #expect(stored == 0)
        #expect(bus.sent == [.count(1000)])
    }

    @Test func callsThatComeTogetherAreAnsweredTogetherAndLaterOnesAfterThem() {
        let bus = SlowBus()
        bus.keepMuted(300)
        bus.forget(.all)
        bus.forget(try! TopicPrefix("/nothing"))
        _ = bus.endOneTurn()
        bus.forget(.all)
        bus.endTurn()
        #expect(bus.sent == [.count(0), .count(300), .count(0)])
    }

    @Test func aBannerOfForgottenEventsIsClosed() {
        let bus = SlowBus()
        bus.startServer()
        bus.publish(World.topics[0], window: .zero)
        bus.endTurn()
        bus.showBanner(BannerID(7))
        bus.forget(.all)
        bus.endTurn()
        #expect(bus.stored == 0)
        #expect(bus.machine.closed == [BannerID(7)])
    }

    @Test func anUndecidedEventStays() {
        let bus = SlowBus()
        bus.publish(World.topics[0], window: .seconds(60))
        bus.publish(title: "silent", body: "")
        bus.endTurn()
        bus.forget(.all)
        bus.endTurn()
        #expect(bus.sent.last == .count(1))
        #expect(bus.stored == 1)
    }

    @Test func whileTheDiskIsBrokenNobodyWaits() {
        let bus = SlowBus()
        bus.keepMuted(1000)
        bus.forget(.all)
        bus.forget(.all)
        _ = bus.endOneTurn()
        bus.disk.condition = .broken
        bus.endTurn()
        bus.forget(.all)
        bus.endTurn()
        let refusals = bus.sent.filter { if case .refused(.storageUnavailable) = $0 { true } else { false } }
        #expect(refusals.count == 3)
        #expect(bus.sent.count == 3)
    }

    @Test func whoeverIsRefusedLearnsWhatWasDeletedAllTheSame() {
        let bus = SlowBus()
        bus.keepMuted(1000)
        bus.forget(.all)
        _ = bus.endOneTurn()
        bus.disk.condition = .broken
        bus.endTurn()
        guard case .refused(.storageUnavailable(let text))? = bus.sent.last else {
            Issue.record("\(bus.sent)")
            return
        }
        let deleted = 1000 - bus.stored
        // A portion looks at topics too.
        #expect((ForgetQueue.portion / 2...ForgetQueue.portion).contains(deleted))
        #expect(text.hasPrefix("\(deleted) events were deleted, and perhaps not all: the journal in"))
    }

    @Test func aFullDiskIsTriedAgainAtOnce() {
        let bus = SlowBus()
        bus.keepMuted(300)
        bus.disk.condition = .full(room: 0)
        bus.pass(.seconds(1))
        bus.publish(title: "fits into the log", body: "")
        bus.endTurn()
        #expect(!bus.daemon.storage.degradation.isEmpty)
        bus.disk.condition = .full(room: 1 << 20)
        bus.forget(.all)
        bus.endTurn()
        #expect(bus.sent.last == .count(301))
        #expect(bus.stored == 0)
        #expect(bus.daemon.storage.degradation.isEmpty)
    }

    @Test func whatARefusedForgetHasDeletedAllTheSameHasNoBannerAnyMore() {
        let bus = SlowBus()
        bus.startServer()
        bus.publish(World.topics[0], window: .zero)
        bus.endTurn()
        bus.showBanner(BannerID(7))
        // The first ones are before the deletion: of what the index had, and of the beginning of its next log.
        var syncs = 0
        bus.disk.otherFault = { [files = bus.disk.files] call in
            guard call == .sync, files.file == "index.db-wal" else { return nil }
            syncs += 1
            return syncs == 3 ? .inputOutput : nil
        }
        bus.forget(.all)
        bus.endTurn()
        guard case .refused(.storageUnavailable)? = bus.sent.last else {
            Issue.record("\(bus.sent)")
            return
        }
        #expect(bus.machine.closed == [])
        bus.daemon.jobs.retry.retry(bus.daemon)
        bus.endTurn()
        #expect(bus.stored == 0)
        #expect(!bus.daemon.router.remembers(bus.accepted[0]))
        #expect(bus.machine.closed == [BannerID(7)])
    }

    @Test func oneConnectionDoesNotTakeAllTheRoom() throws {
        let queue = ForgetQueue()
        func job(_ caller: String) -> ForgetJob {
            ForgetJob(
                topic: .all, upTo: EventID(1), owner: caller, call: MadeUpCalls().make(),
                position: Journal.UnreadPosition(before: .all))
        }
        for _ in 0..<ForgetQueue.limitPerProgram { try queue.add(job(":1.1")) }
        #expect(throws: Refusal.self) { try queue.add(job(":1.1")) }
        try queue.add(job(":1.2"))
        while var next = queue.takeNext() {
            next.position = nil
            queue.enqueue(next)
        }
        #expect(queue.takeDeleted().count == ForgetQueue.limitPerProgram + 1)
        #expect(queue.isEmpty)
        try queue.add(job(":1.1"))
    }
}
