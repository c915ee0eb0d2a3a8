import Routing
import Testing

@testable import NotifyDaemon

/// Fan-out to a bus that does not take what it is given.
struct SlowBusTests {
    /// The text of every event; its bytes are all that counts here.
    private static let body = String(repeating: "x", count: 8192)

    /// The events that were announced, by their numbers.
    private func announced(_ bus: SlowBus) -> [Int] {
        bus.sent.compactMap { message in
            guard case .event(let title, _) = message else { return nil }
            return Int(title)
        }
    }

    /// Publishes events that are called by their numbers, all in one turn.
    private func publish(_ numbers: Range<Int>, on bus: SlowBus) {
        for number in numbers { bus.publish(title: "\(number)", body: Self.body) }
        bus.endTurn()
    }

    /// As many as leave before the limit is reached.
    private var untilLimit: Int { SignalQueue.queueLimit / Self.body.utf8.count }

    /// Calls that have been read may wait to be handled, and the claims among them are in time.
    @Test func aLongTurnEndsNoWindow() {
        let bus = SlowBus()
        bus.startServer()
        bus.publish(World.topics[0], window: .milliseconds(100))
        bus.pass(.milliseconds(200))
        bus.publish(title: "", body: "")
        bus.claim(bus.accepted[0])
        bus.endTurn()
        #expect(bus.sent.contains(.verdict(.suppressed)))
        #expect(bus.machine.banners.isEmpty)
    }

    @Test func signalsStopAtTheLimitOfQueuedBytesAndRepliesGoOn() {
        let bus = SlowBus()
        publish(0..<untilLimit + 10, on: bus)
        #expect(announced(bus) == Array(0..<untilLimit))
        #expect(bus.machine.queuedBytes == SignalQueue.queueLimit)
        #expect(bus.daemon.statistics.first { $0.0 == "waiting-signals" }?.1 == 10)
        let replies = bus.accepted.count
        #expect(replies == untilLimit + 10)
    }

    @Test func signalsGoOnInTheirOrderWhenTheBusHasTakenSome() {
        let bus = SlowBus()
        publish(0..<untilLimit + 10, on: bus)
        bus.takeAll()
        #expect(announced(bus) == Array(0..<untilLimit + 10))
        #expect(bus.daemon.statistics.first { $0.0 == "waiting-signals" }?.1 == 0)
        // What comes after them does not wait.
        publish(untilLimit + 10..<untilLimit + 11, on: bus)
        #expect(announced(bus) == Array(0..<untilLimit + 11))
    }

    /// There is room again, but something waits: what is new goes behind it.
    @Test func nothingOvertakesWhatWaits() {
        let bus = SlowBus()
        publish(0..<untilLimit + 10, on: bus)
        publish(untilLimit + 10..<untilLimit + 20, on: bus)
        #expect(bus.machine.jobTimer == bus.machine.now.instant + SignalQueue.pause)
        bus.takeAll()
        #expect(announced(bus) == Array(0..<untilLimit + 20))
    }

    @Test func whatIsNewWaitsBehindTheOthersThoughTheBusHasRoomAgain() {
        let bus = SlowBus()
        publish(0..<untilLimit + 10, on: bus)
        bus.takeUnnoticed()
        publish(untilLimit + 10..<untilLimit + 20, on: bus)
        #expect(announced(bus) == Array(0..<untilLimit + 20))
    }

    /// More than may wait in memory.
    private var beyondMemory: Int { 2 * untilLimit + SignalQueue.memoryLimit / Self.body.utf8.count }

    /// The bus takes what it is given until there is nothing left.
    private func takeEverything(_ bus: SlowBus) {
        var before = -1
        while announced(bus).count != before {
            before = announced(bus).count
            bus.takeAll()
        }
    }

    /// Beyond what may wait in memory, events wait in the journal, and come from there as they were.
    @Test func whatWaitsInTheJournalLeavesInTheSameOrder() {
        let bus = SlowBus()
        publish(0..<beyondMemory, on: bus)
        #expect(announced(bus).count == untilLimit)
        bus.takeAll()
        #expect(announced(bus) == Array(0..<2 * untilLimit))
        takeEverything(bus)
        #expect(announced(bus) == Array(0..<beyondMemory))
        // Now there is little to do: the journal has its work, and memory is given back.
        for _ in 1...3 { bus.takeAll() }
        #expect(bus.machine.jobTimer == nil)
    }

    /// Nothing is said of what cannot be read now, nor of anything behind it.
    @Test func whatWaitsInAJournalThatFailsWaitsUntilItIsBack() {
        let bus = SlowBus()
        publish(0..<beyondMemory, on: bus)
        bus.disk.condition = .broken
        publish(beyondMemory..<beyondMemory + 1, on: bus)
        takeEverything(bus)
        let readable = announced(bus).count
        #expect(readable < beyondMemory)
        #expect(announced(bus) == Array(0..<readable))
        bus.disk.condition = .well
        bus.daemon.jobs.retry.retry(bus.daemon)
        takeEverything(bus)
        #expect(announced(bus) == Array(0..<beyondMemory))
    }

    @Test func nothingIsPublishedWhileTooManySignalsWait() {
        let bus = SlowBus()
        publish(0..<untilLimit, on: bus)
        bus.expireOldEvents(SignalQueue.lengthLimit - 1)
        publish(untilLimit..<untilLimit + 1, on: bus)
        guard case .accepted = bus.sent.last else {
            Issue.record("The last one for which there is room is \(bus.sent.last.map { "\($0)" } ?? "nothing").")
            return
        }
        publish(0..<1, on: bus)
        guard case .refused(.limitExceeded(let text)) = bus.sent.last else {
            Issue.record("One more is \(bus.sent.last.map { "\($0)" } ?? "nothing").")
            return
        }
        #expect(text.contains("signals that wait for the bus: there are \(SignalQueue.lengthLimit)"))
    }
}
