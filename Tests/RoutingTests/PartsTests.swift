import NotifyTestSupport
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

    @Test func theFirstEventsLengthIsNeverCutByTheMaximum() {
        #expect(window(100, maximum: 20).deadline == .after(100))
    }

    @Test func claimsAreCountedPerEvent() {
        var window = window(100, maximum: 500)
        window.add(EventID(2), length: .milliseconds(100), isAwaited: true, at: start)
        window.claim(EventID(1))
        window.claim(EventID(1))
        #expect(Array(window.unclaimed) == [EventID(2)])
        #expect(!window.isFullyClaimed)
        window.claim(EventID(2))
        #expect(window.isFullyClaimed)
    }

    @Test func aHeldEventIsNeitherUnclaimedNorDone() {
        var window = window(100, maximum: 500)
        window.hold(EventID(1))
        #expect(window.unclaimed.isEmpty)
        #expect(!window.isFullyClaimed)
        #expect(!window.canEndEarly)
        window.release(EventID(1), isAwaited: true)
        #expect(Array(window.unclaimed) == [EventID(1)])
    }

    @Test func itCanEndEarlyWhenNoAnswerIsAwaited() {
        var window = window(100, maximum: 500)
        #expect(!window.canEndEarly)
        window.stopAwaiting(EventID(1))
        #expect(window.canEndEarly)
    }
}

@Suite struct TimerQueueTests {
    private func fireAll(_ queue: inout TimerQueue<Int, String>) -> [String] {
        var timers: [String] = []
        while let entry = queue.next {
            timers.append(entry.timer)
            queue.removeNext()
        }
        return timers
    }

    @Test func theEarliestDeadlineFiresFirst() {
        var queue = TimerQueue<Int, String>()
        for (timer, deadline) in [("c", 3), ("a", 1), ("b", 2)] { _ = queue.schedule(timer, at: deadline) }
        #expect(queue.next?.deadline == 1)
        #expect(fireAll(&queue) == ["a", "b", "c"])
    }

    @Test func timersWithTheSameDeadlineFireInTheOrderTheyWereScheduled() {
        var queue = TimerQueue<Int, String>()
        for timer in 0..<20 { _ = queue.schedule("\(timer)", at: 7) }
        #expect(fireAll(&queue) == (0..<20).map { "\($0)" })
    }

    @Test func everyEntryHasAnIDOfItsOwn() {
        var queue = TimerQueue<Int, String>()
        let first = queue.schedule("a", at: 1)
        let second = queue.schedule("a", at: 1)
        #expect(first != second)
        #expect(queue.next?.id == first)
    }

    @Test func aTimerThatIsMovedAThousandTimesIsSoonOneEntryAgain() {
        var queue = TimerQueue<Int, String>()
        var most = 0
        for deadline in 0..<1000 {
            let id = queue.schedule("a", at: deadline)
            most = max(most, queue.entries.count)
            if queue.needsCompaction { queue.compact(keeping: queue.entries.filter { $0.id == id }) }
        }
        #expect(most <= 67)
    }
}

extension Int: SlabKey {
    static var vacant: Int { 0 }
}

@Suite struct SlabDictionaryTests {
    @Test func whatIsPutInIsFoundAndWhatIsTakenOutIsNot() {
        var table = SlabDictionary<Int, String>()
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

    /// The same as a dictionary, whatever is done in which order.
    @Test(arguments: 0..<20) func itIsADictionary(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var table = SlabDictionary<Int, Int>()
        var model: [Int: Int] = [:]
        for step in 0..<4000 {
            let key = Int.random(in: 0..<(step < 2000 ? 1500 : 40), using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: #expect(table.removeValue(forKey: key) == model.removeValue(forKey: key))
            case 1 where model[key] != nil:
                table[existing: key] += 1
                model[key]! += 1
            default: (table[key], model[key]) = (step, step)
            }
            #expect(table[key] == model[key] && table.count == model.count)
        }
        #expect(Dictionary(uniqueKeysWithValues: zip(table.keys, table.values)) == model)
        for key in 0..<1500 { #expect(table[key] == model[key]) }
        for key in model.keys { #expect(table.remove(existing: key) == model[key]) }
        #expect(table.isEmpty)
    }

    @Test func slotsAreUsedAgain() {
        var table = SlabDictionary<Int, String>()
        for number in 0..<100_000 {
            table[number] = "one of very many"
            if number >= 300 { table[number - 300] = nil }
        }
        #expect(table.count == 300)
        #expect(table.slotCount == 512)
    }
}

@Suite struct SortedIDsTests {
    @Test func idsAreInOrderWhateverOrderTheyCameIn() {
        var list = SortedIDs()
        for id: UInt64 in [5, 9, 7, 1, 7, 9] { list.insert(EventID(id)) }
        #expect(list.map(\.rawValue) == [1, 5, 7, 9])
        #expect(list.last == EventID(9))
    }

    @Test func takingOutWhatIsNotThereChangesNothing() {
        var list = SortedIDs()
        for id: UInt64 in [1, 3] { list.insert(EventID(id)) }
        for id: UInt64 in [0, 2, 4] { list.remove(EventID(id)) }
        #expect(list.count == 2)
        list.remove(EventID(3))
        #expect(Array(list) == [EventID(1)])
    }

    @Test func takingAllLeavesNothing() {
        var list = SortedIDs()
        list.insert(EventID(1))
        #expect(list.take().count == 1)
        #expect(list.isEmpty)
    }
}

@Suite struct DeduplicatorTests {
    private let chat = Origin(source: "chat", eventID: "17")

    @Test func aGlobalIDIsRememberedForTheRetentionTime() {
        var deduplicator = Deduplicator(capacity: 10, retention: .seconds(24 * 3600))
        deduplicator.record(chat, as: EventID(1), at: wakeUp)
        #expect(deduplicator.original(of: chat, at: wakeUp + .seconds(24 * 3600 - 1)) == EventID(1))
        #expect(deduplicator.original(of: chat, at: wakeUp + .seconds(24 * 3600)) == nil)
        #expect(deduplicator.count == 0)
    }

    @Test func aRestartDoesNotLengthenTheRetentionTime() {
        var deduplicator = Deduplicator(capacity: 10, retention: .seconds(24 * 3600))
        deduplicator.record(chat, as: EventID(1), at: wakeUp, left: .seconds(60))
        #expect(deduplicator.original(of: chat, at: wakeUp + .seconds(59)) == EventID(1))
        #expect(deduplicator.original(of: chat, at: wakeUp + .seconds(60)) == nil)
    }

    @Test(arguments: [Origin(source: "chat"), Origin(eventID: "17"), Origin()])
    func halfAPairIsNoGlobalID(_ origin: Origin) {
        var deduplicator = Deduplicator(capacity: 10, retention: .seconds(60))
        deduplicator.record(origin, as: EventID(1), at: wakeUp)
        #expect(deduplicator.original(of: origin, at: wakeUp) == nil)
        #expect(deduplicator.count == 0)
    }

    @Test func theOldestIsForgottenWhenItIsFull() {
        var deduplicator = Deduplicator(capacity: 2, retention: .seconds(60))
        let origins = ["1", "2", "3"].map { Origin(source: "chat", eventID: $0) }
        for (index, origin) in origins.enumerated() {
            deduplicator.record(origin, as: EventID(UInt64(index)), at: wakeUp)
        }
        let found = origins.map { deduplicator.original(of: $0, at: wakeUp) }
        #expect(found == [nil, EventID(1), EventID(2)])
    }
}

@Suite struct CircuitBreakerTests {
    private func closedCircuit() -> CircuitBreaker {
        var breaker = CircuitBreaker()
        breaker.serverChanged(isThere: true)
        return breaker
    }

    @Test func allowsNoCallWithoutAServer() {
        #expect(!CircuitBreaker().allowsCall)
        #expect(closedCircuit().allowsCall)
    }

    /// Begins calls with these numbers, none of them exclusive.
    private func begin(_ numbers: ClosedRange<UInt64>, _ breaker: inout CircuitBreaker) {
        for number in numbers { breaker.callBegan(BannerCall(number), isExclusive: false) }
    }

    private func succeed(_ number: UInt64, _ breaker: inout CircuitBreaker) {
        _ = breaker.callEnded(BannerCall(number))
        breaker.callSucceeded()
    }

    private func fail(_ number: UInt64, _ breaker: inout CircuitBreaker) -> Instant? {
        _ = breaker.callEnded(BannerCall(number))
        return breaker.callFailed(at: start)
    }

    @Test func allowsFourCallsAtOnce() {
        var breaker = closedCircuit()
        begin(1...4, &breaker)
        #expect(!breaker.allowsCall)
        succeed(2, &breaker)
        #expect(breaker.allowsCall)
    }

    @Test func anExclusiveCallHoldsOthersBackUntilItEnds() {
        var breaker = closedCircuit()
        breaker.callBegan(BannerCall(1), isExclusive: true)
        #expect(!breaker.allowsCall)
        let wasExclusive = breaker.callEnded(BannerCall(1))
        #expect(wasExclusive && breaker.allowsCall)
    }

    @Test func onlyTheNewestCallIsExclusive() {
        var breaker = closedCircuit()
        breaker.callBegan(BannerCall(1), isExclusive: true)
        let call = breaker.exclusiveTimeEnded()
        #expect(call == BannerCall(1) && breaker.allowsCall)
        breaker.callBegan(BannerCall(2), isExclusive: true)
        let wasExclusive = breaker.callEnded(BannerCall(1))
        #expect(!wasExclusive && !breaker.allowsCall)
    }

    @Test func threeFailuresInARowOpenTheCircuitAndOneCallProbesTheServer() {
        var breaker = closedCircuit()
        begin(1...3, &breaker)
        #expect(fail(1, &breaker) == nil)
        #expect(fail(2, &breaker) == nil)
        #expect(fail(3, &breaker) == start + .seconds(30))
        #expect(!breaker.allowsCall)
        let since = breaker.cooldownEnded()
        #expect(since == start && breaker.allowsCall)
        begin(4...4, &breaker)
        #expect(!breaker.allowsCall)
        succeed(4, &breaker)
        #expect(breaker.allowsCall)
    }

    @Test func aSuccessResetsTheFailureCount() {
        var breaker = closedCircuit()
        begin(1...4, &breaker)
        _ = fail(1, &breaker)
        _ = fail(2, &breaker)
        succeed(3, &breaker)
        #expect(fail(4, &breaker) == nil)
        #expect(breaker.allowsCall)
    }

    @Test func aNewServerStartsWithAClearRecord() {
        var breaker = closedCircuit()
        begin(1...3, &breaker)
        for number in 1...3 as ClosedRange<UInt64> { _ = fail(number, &breaker) }
        breaker.serverChanged(isThere: true)
        #expect(breaker.allowsCall)
    }
}

@Suite struct RateLimiterTests {
    @Test func admitsSoManyWithinASecond() {
        var limiter = RateLimiter()
        let admitted = [0, 10, 20, 999, 1000].map { limiter.admit(sender: ":1.1", limit: 3, at: .after($0)) }
        #expect(admitted == [true, true, false, false, true])
    }

    /// Each call of `notifyctl send` is a sender of its own.
    @Test(arguments: [1, 2, 5, 20])
    func admitsNoMoreOfManySenders(_ limit: Int) {
        var limiter = RateLimiter()
        let admitted = (0..<100).map { limiter.admit(sender: ":1.\($0)", limit: limit, at: start) }
        #expect(admitted.count(where: \.self) == limit && admitted.prefix(limit).allSatisfy(\.self))
    }

    @Test(arguments: [(1, 1), (2, 1), (5, 4), (20, 16)])
    func reservesAFifthForSendersWithoutABanner(_ limit: Int, ofOne: Int) {
        var limiter = RateLimiter()
        let storm = (0..<100).map { _ in limiter.admit(sender: ":1.1", limit: limit, at: start) }
        #expect(storm.count(where: \.self) == ofOne)
        let others = (2..<100).map { limiter.admit(sender: ":1.\($0)", limit: limit, at: start) }
        #expect(others.count(where: \.self) == limit - ofOne)
    }

    @Test func zeroIsNoLimit() {
        var limiter = RateLimiter()
        let admitted = (0..<100).map { _ in limiter.admit(sender: ":1.1", limit: 0, at: start) }
        #expect(!admitted.contains(false))
    }
}

struct TokenBucketTests {
    @Test func someAreAllowedAtOnceAndThenOneInAnInterval() {
        var bucket = TokenBucket(every: .milliseconds(100), burst: 3)
        let taken = (0..<4).map { _ in bucket.take(at: .seconds(9)) }
        #expect(taken == [true, true, true, false])
        #expect(bucket.wait(at: .seconds(9)) == .milliseconds(100))
        #expect(bucket.available(at: .milliseconds(9250)) == 2)
        #expect(bucket.take(3, at: .milliseconds(9250)) == false)
        #expect(bucket.take(2, at: .milliseconds(9250)) == true)
        #expect(bucket.available(at: .seconds(1000)) == 3)
    }

    @Test func whatIsSpentBeyondItIsPaidFor() {
        var bucket = TokenBucket(every: .seconds(1), burst: 10)
        #expect(bucket.spend(10, at: .seconds(5)) == .zero)
        #expect(bucket.spend(7, at: .seconds(5)) == .seconds(7))
        #expect(bucket.spend(1, at: .seconds(8)) == .seconds(5))
    }
}
