import Routing
import Testing

@testable import NotifyDaemon

/// The rules that all background jobs have in common.
struct JobTests {
    private func recovering() -> SlowBus {
        SlowBus(isRestoring: true) { disk in
            for number in 1...3 as ClosedRange<UInt32> {
                disk.keepShown(UInt64(number), World.topics[0], in: number, of: UInt64(number))
            }
        }
    }

    @Test func aJobThatFailsPausesForASecond() {
        let bus = recovering()
        var reads = 0
        bus.disk.onRead = { reads += 1 }
        bus.disk.condition = .broken
        bus.machine.endTurnWhenIdle()
        bus.endTurn()
        let before = reads
        #expect(before > 0)
        #expect(bus.machine.jobTimer == bus.machine.now.instant + Jobs.failurePause)
        for _ in 1...3 {
            bus.machine.endTurnWhenIdle()
            bus.endTurn()
        }
        #expect(reads == before)
        bus.disk.condition = .well
        bus.takeAll()
        #expect(reads > before)
        #expect(!bus.daemon.recovery.isUnderWay)
    }

    @Test func aJournalThatWorksAgainEndsThePause() {
        let bus = recovering()
        bus.disk.condition = .broken
        bus.daemon.handle(.quieted(nil, for: .zero))
        bus.endTurn()
        #expect(!bus.daemon.storage.degradation.isEmpty)
        bus.disk.condition = .well
        bus.daemon.jobs.retry.retry(bus.daemon)
        bus.endTurn()
        #expect(!bus.daemon.recovery.isUnderWay)
    }

    @Test func whileTheBusIsBehindAJobThatMakesSignalsWaits() {
        let bus = SlowBus()
        bus.keepMuted(10)
        let body = String(repeating: "x", count: 8192)
        for _ in 0...SignalQueue.queueLimit / body.utf8.count { bus.publish(title: "", body: body) }
        bus.markRead(.all)
        bus.endTurn()
        #expect(bus.daemon.hasQueuedSignals)
        #expect(bus.daemon.jobs.marks.marked == 0)
        bus.takeAll()
        #expect(bus.daemon.jobs.marks.marked == 10)
    }

    @Test func memoryIsGivenBackOnceThereIsLittleToDo() {
        let bus = SlowBus()
        var now: Instant { bus.machine.now.instant }
        /// The journal has work to do as well.
        func rest(until end: Instant = Instant(microseconds: .max)) {
            while let timer = bus.machine.jobTimer, timer <= end { bus.takeAll() }
        }
        // After the start.
        rest()
        #expect(bus.machine.releases == 1)
        var began = now
        bus.publish(title: "", body: "")
        bus.endTurn()
        rest()
        #expect(bus.machine.releases == 2 && now == began + MemoryRelease.interval)
        began = now
        for _ in 1...MemoryRelease.busy {
            bus.publish(title: "", body: "")
            bus.endTurn()
        }
        rest(until: began + MemoryRelease.interval)
        #expect(bus.machine.releases == 2)
        rest()
        #expect(bus.machine.releases == 3 && now == began + MemoryRelease.interval + MemoryRelease.interval)
    }
}
