import Testing

@testable import Routing

private let start = Instant(microseconds: 5_000_000)
private let wakeUp = Uptime(microseconds: 9_000_000)

extension Instant {
    fileprivate static func after(_ milliseconds: Int) -> Instant { start + .milliseconds(milliseconds) }
}

@Suite struct WindowTests {
    /// A window that was opened by event 1.
    private func window(_ length: Int, maximum: Int) -> Window {
        var window = Window(length: .milliseconds(length), maximum: .milliseconds(maximum), at: start)
        window.add(EventID(1), length: .milliseconds(length), isAwaited: true, at: start)
        return window
    }

    private func deadline(_ window: Window, withEventAt milliseconds: Int, length: Int) -> Instant {
        var window = window
        window.add(EventID(2), length: .milliseconds(length), isAwaited: true, at: .after(milliseconds))
        return window.deadline
    }

    @Test func aFurtherEventKeepsItOpenForItsLengthAgain() {
        #expect(deadline(window(100, maximum: 500), withEventAt: 60, length: 100) == .after(160))
    }

    @Test func noEventKeepsItOpenBeyondItsMaximum() {
        #expect(deadline(window(100, maximum: 120), withEventAt: 60, length: 100) == .after(120))
    }

    @Test func aShorterLengthTakesNoTimeAway() {
        #expect(deadline(window(100, maximum: 500), withEventAt: 60, length: 0) == .after(100))
    }

    @Test func theFirstEventsLengthIsNeverCutByTheMaximum() {
        #expect(window(100, maximum: 20).deadline == .after(100))
    }

    @Test func claimsAreCountedPerEvent() {
        var window = window(100, maximum: 500)
        window.add(EventID(2), length: .milliseconds(100), isAwaited: true, at: start)
        window.claim(EventID(1))
        window.claim(EventID(1))
        #expect(Array(window.unclaimed) == [EventID(2)])
        #expect(!window.isDone)
        window.claim(EventID(2))
        #expect(window.isDone)
    }

    @Test func aHeldEventIsNeitherUnclaimedNorDone() {
        var window = window(100, maximum: 500)
        window.hold(EventID(1))
        #expect(window.unclaimed.isEmpty)
        #expect(!window.isDone)
        #expect(!window.isOverEarly)
        window.release(EventID(1), isAwaited: true)
        #expect(Array(window.unclaimed) == [EventID(1)])
    }

    @Test func itIsOverEarlyWhenNobodyIsAwaitedAnyMore() {
        var window = window(100, maximum: 500)
        #expect(!window.isOverEarly)
        window.stopAwaiting(EventID(1))
        #expect(window.isOverEarly)
    }
}

@Suite struct AgendaTests {
    private func takeAll(_ agenda: inout Agenda<Int, String>) -> [String] {
        var matters: [String] = []
        while let entry = agenda.next {
            matters.append(entry.matter)
            agenda.removeNext()
        }
        return matters
    }

    @Test func whatIsDueFirstComesFirst() {
        var agenda = Agenda<Int, String>()
        for (matter, moment) in [("c", 3), ("a", 1), ("b", 2)] { _ = agenda.put(matter, at: moment) }
        #expect(agenda.next?.moment == 1)
        #expect(takeAll(&agenda) == ["a", "b", "c"])
    }

    @Test func whatIsDueAtTheSameMomentComesInTheOrderItWasPutDown() {
        var agenda = Agenda<Int, String>()
        for matter in 0..<20 { _ = agenda.put("\(matter)", at: 7) }
        #expect(takeAll(&agenda) == (0..<20).map { "\($0)" })
    }

    @Test func everyEntryHasATicketOfItsOwn() {
        var agenda = Agenda<Int, String>()
        let first = agenda.put("a", at: 1)
        let second = agenda.put("a", at: 1)
        #expect(first != second)
        #expect(agenda.next?.ticket == first)
    }

    @Test func aMatterThatIsMovedAThousandTimesIsSoonOneEntryAgain() {
        var agenda = Agenda<Int, String>()
        var most = 0
        for moment in 0..<1000 {
            let ticket = agenda.put("a", at: moment)
            most = max(most, agenda.entries.count)
            if agenda.isCrowded { agenda.sweep(leaving: agenda.entries.filter { $0.ticket == ticket }) }
        }
        #expect(most <= 67)
    }
}

@Suite struct SlotTableTests {
    @Test func whatIsPutInIsFoundAndWhatIsTakenOutIsNot() {
        var table = SlotTable<Int, String>()
        for number in 0..<1000 { table[number] = "\(number)" }
        for number in stride(from: 0, to: 1000, by: 2) { #expect(table.removeValue(forKey: number) == "\(number)") }
        table[1] = nil
        table[3]! += "!"
        table[2000]?.append("?")
        #expect(table.count == 499)
        #expect(table[2] == nil)
        #expect(table[3] == "3!")
        #expect(table[2000] == nil)
        #expect(Set(table.values) == Set(table.keys.map { table[$0]! }))
    }

    @Test func slotsAreUsedAgain() {
        var table = SlotTable<Int, String>()
        for number in 0..<100_000 {
            table[number] = "one of very many"
            if number >= 300 { table[number - 300] = nil }
        }
        #expect(table.count == 300)
        #expect(table.slotCount == 512)
    }
}

@Suite struct EventListTests {
    @Test func idsAreInOrderWhateverOrderTheyCameIn() {
        var list = EventList()
        for id: UInt64 in [5, 9, 7, 1, 7, 9] { list.insert(EventID(id)) }
        #expect(list.map(\.rawValue) == [1, 5, 7, 9])
        #expect(list.last == EventID(9))
    }

    @Test func takingOutWhatIsNotThereChangesNothing() {
        var list = EventList()
        for id: UInt64 in [1, 3] { list.insert(EventID(id)) }
        for id: UInt64 in [0, 2, 4] { list.remove(EventID(id)) }
        #expect(list.count == 2)
        list.remove(EventID(3))
        #expect(Array(list) == [EventID(1)])
    }

    @Test func takingAllLeavesNothing() {
        var list = EventList()
        list.insert(EventID(1))
        #expect(list.takeAll().count == 1)
        #expect(list.isEmpty)
    }
}

@Suite struct RepeatMemoryTests {
    private let chat = Origin(source: "chat", eventID: "17")

    @Test func aPairIsRememberedForItsTime() {
        var memory = RepeatMemory(capacity: 10, memory: .seconds(24 * 3600))
        memory.remember(chat, as: EventID(1), at: wakeUp)
        #expect(memory.first(chat, at: wakeUp + .seconds(24 * 3600 - 1)) == EventID(1))
        #expect(memory.first(chat, at: wakeUp + .seconds(24 * 3600)) == nil)
        #expect(memory.count == 0)
    }

    @Test(arguments: [Origin(source: "chat"), Origin(eventID: "17"), Origin()])
    func halfAPairNamesNothing(_ origin: Origin) {
        var memory = RepeatMemory(capacity: 10, memory: .seconds(60))
        memory.remember(origin, as: EventID(1), at: wakeUp)
        #expect(memory.first(origin, at: wakeUp) == nil)
        #expect(memory.count == 0)
    }

    @Test func theOldestIsForgottenWhenItIsFull() {
        var memory = RepeatMemory(capacity: 2, memory: .seconds(60))
        let origins = ["1", "2", "3"].map { Origin(source: "chat", eventID: $0) }
        for (index, origin) in origins.enumerated() { memory.remember(origin, as: EventID(UInt64(index)), at: wakeUp) }
        let found = origins.map { memory.first($0, at: wakeUp) }
        #expect(found == [nil, EventID(1), EventID(2)])
    }
}

@Suite struct ServerGateTests {
    private func openGate() -> ServerGate {
        var gate = ServerGate()
        gate.serverChanged(isThere: true)
        return gate
    }

    @Test func isClosedWithoutAServer() {
        #expect(!ServerGate().isOpen)
        #expect(openGate().isOpen)
    }

    /// Calls with these numbers begin, and none keeps another back.
    private func begin(_ numbers: ClosedRange<UInt64>, _ gate: inout ServerGate) {
        for number in numbers { gate.callBegan(BannerCall(number), hasHeadStart: false) }
    }

    private func succeed(_ number: UInt64, _ gate: inout ServerGate) {
        _ = gate.callEnded(BannerCall(number))
        gate.callSucceeded()
    }

    private func fail(_ number: UInt64, _ gate: inout ServerGate) -> Instant? {
        _ = gate.callEnded(BannerCall(number))
        return gate.callFailed(at: start)
    }

    @Test func letsFourCallsThroughAtOnce() {
        var gate = openGate()
        begin(1...4, &gate)
        #expect(!gate.isOpen)
        succeed(2, &gate)
        #expect(gate.isOpen)
    }

    @Test func aCallWithAHeadStartKeepsOthersBackUntilItEnds() {
        var gate = openGate()
        gate.callBegan(BannerCall(1), hasHeadStart: true)
        #expect(!gate.isOpen)
        let wasAhead = gate.callEnded(BannerCall(1))
        #expect(wasAhead && gate.isOpen)
    }

    @Test func aHeadStartEndsAndThenOnlyTheNewestCallCounts() {
        var gate = openGate()
        gate.callBegan(BannerCall(1), hasHeadStart: true)
        gate.headStartEnded()
        #expect(gate.isOpen)
        gate.callBegan(BannerCall(2), hasHeadStart: true)
        let wasAhead = gate.callEnded(BannerCall(1))
        #expect(!wasAhead && !gate.isOpen)
    }

    @Test func restsAfterThreeFailuresInARowThenTriesOne() {
        var gate = openGate()
        begin(1...3, &gate)
        #expect(fail(1, &gate) == nil)
        #expect(fail(2, &gate) == nil)
        #expect(fail(3, &gate) == start + .seconds(30))
        #expect(!gate.isOpen)
        gate.restEnded()
        #expect(gate.isOpen)
        begin(4...4, &gate)
        #expect(!gate.isOpen)
        succeed(4, &gate)
        #expect(gate.isOpen)
    }

    @Test func aSuccessEndsTheRow() {
        var gate = openGate()
        begin(1...4, &gate)
        _ = fail(1, &gate)
        _ = fail(2, &gate)
        succeed(3, &gate)
        #expect(fail(4, &gate) == nil)
        #expect(gate.isOpen)
    }

    @Test func aNewServerStartsWithAClearRecord() {
        var gate = openGate()
        begin(1...3, &gate)
        for number in 1...3 as ClosedRange<UInt64> { _ = fail(number, &gate) }
        gate.serverChanged(isThere: true)
        #expect(gate.isOpen)
    }
}

@Suite struct BannerPaceTests {
    @Test func admitsSoManyWithinASecond() {
        var pace = BannerPace()
        let admitted = [0, 10, 20, 999, 1000].map { pace.admit(sender: ":1.1", limit: 2, at: .after($0)) }
        #expect(admitted == [true, true, false, false, true])
    }

    @Test func keepsAsManyForSendersOfWhomNothingHasAppeared() {
        var pace = BannerPace()
        let senders = [":1.1", ":1.1", ":1.1", ":1.2", ":1.3", ":1.4"]
        let admitted = senders.map { pace.admit(sender: $0, limit: 2, at: start) }
        #expect(admitted == [true, true, false, true, true, false])
    }

    @Test func zeroIsNoLimit() {
        var pace = BannerPace()
        let admitted = (0..<100).map { _ in pace.admit(sender: ":1.1", limit: 0, at: start) }
        #expect(!admitted.contains(false))
    }
}
