import Routing
import Testing

@testable import NotifyDaemon

struct FairQueueTests {
    private var queue = FairQueue<Int>()

    /// Dequeues all calls that are ready.
    private mutating func takeAll() -> [Int] {
        var calls: [Int] = []
        while queue.nextCaller() != nil { calls.append(queue.dequeue()) }
        return calls
    }

    @Test mutating func callersAreServedRoundRobinAndInTheirOrder() {
        for call in 1...4 { queue.enqueue(call, of: ":1.1") }
        for call in 5...6 { queue.enqueue(call, of: ":1.2") }
        queue.enqueue(7, of: ":1.3")
        #expect(takeAll() == [1, 5, 7, 2, 6, 3, 4])
        #expect(queue.isEmpty)
    }

    @Test mutating func theRestOfACallComesBeforeTheNextOfItsCaller() {
        queue.enqueue(1, of: ":1.1", kind: .reading)
        queue.enqueue(2, of: ":1.1")
        queue.enqueue(3, of: ":1.2")
        #expect(queue.nextCaller() == ":1.1")
        _ = queue.dequeue()
        queue.requeue(4, of: ":1.1")
        #expect(queue.hasCalls(of: ":1.1"))
        #expect(takeAll() == [3, 4, 2])
        queue.requeue(5, of: ":1.1")
        #expect(takeAll() == [5])
        #expect(queue.isEmpty)
    }

    @Test mutating func readsAreDroppedWhenTheirCallerLeaves() {
        for call in 1...2 { queue.enqueue(call, of: ":1.1", bytes: 100, kind: .reading) }
        queue.enqueue(3, of: ":1.1", kind: .claim)
        queue.enqueue(4, of: ":1.2")
        queue.enqueueLast(5, of: ":1.1")
        #expect(takeAll() == [3, 4, 5])
        queue.enqueue(6, of: ":1.1", kind: .reading)
        queue.enqueueLast(7, of: ":1.1")
        #expect(takeAll() == [7])
        #expect(queue.isEmpty)
    }

    @Test mutating func aBlockedCallerDelaysNoOther() {
        for call in 1...2 { queue.enqueue(call, of: ":1.1") }
        queue.enqueue(3, of: ":1.2")
        queue.blockNext()
        queue.enqueue(4, of: ":1.1")
        #expect(takeAll() == [3])
        #expect(!queue.isEmpty)
        #expect(!queue.isReady)
        #expect(queue.hasCalls(of: ":1.1"))
        queue.unblock(":1.1")
        queue.unblock(":1.1")
        queue.unblock(":1.2")
        #expect(takeAll() == [1, 2, 4])
    }

    @Test mutating func theQueueOfACallerIsLimitedInLength() {
        for call in 1...FairQueue<Int>.lengthLimit {
            #expect(queue.hasRoom(for: ":1.1"))
            queue.enqueue(call, of: ":1.1")
        }
        #expect(!queue.hasRoom(for: ":1.1"))
        #expect(queue.hasRoom(for: ":1.2"))
        _ = queue.dequeue()
        #expect(queue.hasRoom(for: ":1.1"))
    }

    /// A caller whose reads fill their part can still claim.
    @Test mutating func fewerReadsThanOtherCallsWait() {
        for call in 1...FairQueue<Int>.readingsLimit {
            #expect(queue.hasRoom(for: ":1.1", kind: .reading))
            queue.enqueue(call, of: ":1.1", kind: .reading)
        }
        #expect(!queue.hasRoom(for: ":1.1", kind: .reading))
        #expect(queue.hasRoom(for: ":1.1", kind: .claim))
        #expect(queue.hasRoom(for: ":1.2", kind: .reading))
        _ = queue.dequeue()
        #expect(queue.hasRoom(for: ":1.1", kind: .reading))
    }

    @Test mutating func theQueueOfACallerIsLimitedInBytes() {
        queue.enqueue(1, of: ":1.1", bytes: FairQueue<Int>.bytesLimit)
        #expect(!queue.hasRoom(for: ":1.1"))
        #expect(queue.hasRoom(for: ":1.2"))
        _ = queue.dequeue()
        #expect(queue.hasRoom(for: ":1.1"))
    }

    @Test mutating func nothingIsReadWhileThereIsTooMuchToBeHandled() {
        let size = FairQueue<Int>.bytesLimit
        for caller in 1...FairQueue<Int>.totalLimit / size { queue.enqueue(caller, of: ":1.\(caller)", bytes: size) }
        #expect(queue.isFull)
        _ = queue.dequeue()
        #expect(!queue.isFull)
    }

    /// The reply that unblocks them must be read.
    @Test mutating func whileAllAreBlockedReadingGoesOnAndNothingIsQueued() {
        let size = FairQueue<Int>.bytesLimit
        let callers = (1...FairQueue<Int>.totalLimit / size).map { ":1.\($0)" }
        for caller in callers {
            queue.enqueue(1, of: caller, bytes: size)
            queue.blockNext()
        }
        #expect(!queue.isFull)
        #expect(!queue.hasRoom(for: ":1.100"))
        queue.unblock(callers[0])
        #expect(queue.isFull)
        #expect(queue.hasRoom(for: ":1.100"))
    }

    // MARK: Programs

    /// `:1.1a` and `:1.1b` are connections of one program.
    private func groupByProgram() { queue.programOf = { String($0.prefix(4)) } }

    @Test mutating func callersOfOneProgramShareATurn() {
        groupByProgram()
        for call in 1...2 { for caller in ["a", "b", "c"] { queue.enqueue(call, of: ":1.1" + caller) } }
        for call in 11...13 { queue.enqueue(call, of: ":1.2") }
        #expect(takeAll() == [1, 11, 1, 12, 1, 13, 2, 2, 2])
        #expect(queue.isEmpty)
    }

    @Test mutating func aProgramsCallsAreLimitedAndAFewOfEachCallerAreNot() {
        groupByProgram()
        for call in 1...FairQueue<Int>.lengthLimit { queue.enqueue(call, of: ":1.1a") }
        #expect(!queue.hasRoom(for: ":1.1a"))
        for call in 1...FairQueue<Int>.reservedLength {
            #expect(queue.hasRoom(for: ":1.1b"))
            queue.enqueue(call, of: ":1.1b")
        }
        #expect(!queue.hasRoom(for: ":1.1b"))
        #expect(queue.hasRoom(for: ":1.2"))
    }

    @Test mutating func theCallsOfACallerKeepTheirOrderWhenItsProgramBecomesKnown() {
        queue.enqueue(1, of: ":1.1a")
        queue.enqueue(2, of: ":1.1a", kind: .reading)
        queue.enqueue(11, of: ":1.2")
        queue.enqueue(12, of: ":1.1b")
        groupByProgram()
        for caller in [":1.1a", ":1.1b", ":1.2", ":1.3"] { queue.regroup(caller) }
        #expect(queue.mustQueue(":1.1c") && !queue.mustQueue(":1.3"))
        #expect(takeAll() == [11, 1, 12, 2])
        #expect(queue.isEmpty)
    }

    @Test mutating func theDeficitOfOneCallerIsThatOfItsProgram() {
        groupByProgram()
        for caller in ["a", "b"] { queue.enqueue(1, of: ":1.1" + caller) }
        for call in 11...13 { queue.enqueue(call, of: ":1.2") }
        queue.charge(":1.1a", 750)
        #expect(takeAll() == [11, 12, 1, 13, 1])
    }

    @Test mutating func aBlockedCallerDelaysNoOtherOfItsProgram() {
        groupByProgram()
        queue.enqueue(1, of: ":1.1a")
        queue.enqueue(2, of: ":1.1b")
        queue.blockNext()
        #expect(takeAll() == [2])
        queue.unblock(":1.1a")
        #expect(takeAll() == [1])
        #expect(queue.isEmpty)
    }

    // MARK: Throttling

    private mutating func enqueuePublishes(_ count: Int, of caller: String) {
        for call in 1...count { queue.enqueue(call, of: caller, kind: .publish) }
    }

    @Test mutating func manyPublishesOfACallerAreABacklog() {
        enqueuePublishes(Throttle.backlogThreshold, of: ":1.1")
        #expect(!queue.hasPublishBacklog(":1.1"))
        enqueuePublishes(1, of: ":1.1")
        #expect(queue.hasPublishBacklog(":1.1"))
        #expect(!queue.hasPublishBacklog(":1.2"))
        _ = queue.dequeue()
        #expect(!queue.hasPublishBacklog(":1.1"))
    }

    @Test mutating func aCallerWithItsShareOfItsProgramsBacklogIsNotThrottled() {
        groupByProgram()
        enqueuePublishes(Throttle.backlogThreshold, of: ":1.1a")
        enqueuePublishes(1, of: ":1.1b")
        #expect(queue.hasPublishBacklog(":1.1a"))
        #expect(!queue.hasPublishBacklog(":1.1b"))
    }

    /// Else a program would publish over many connections what it may not over one.
    @Test mutating func allConnectionsThatMakeUpABacklogAreThrottled() {
        groupByProgram()
        let connections = (0...Throttle.backlogThreshold / 2).map { ":1.1\($0)" }
        for connection in connections { enqueuePublishes(2, of: connection) }
        #expect(connections.allSatisfy { queue.hasPublishBacklog($0) })
    }

    @Test mutating func aThrottledCallerKeepsItsOrderAndDelaysNoOther() {
        enqueuePublishes(2, of: ":1.1")
        queue.enqueue(3, of: ":1.2")
        queue.throttleNext()
        queue.enqueue(4, of: ":1.1", kind: .publish)
        #expect(takeAll() == [3])
        #expect(!queue.isReady)
        // `unblock` is for blocked callers only.
        queue.unblock(":1.1")
        #expect(!queue.isReady)
        queue.unthrottle()
        queue.unthrottle()
        #expect(takeAll() == [1, 2, 4])
        #expect(queue.isEmpty)
    }

    /// A claim is not late because of the publishes before it.
    @Test mutating func anyCallOtherThanAPublishEndsTheThrottling() {
        enqueuePublishes(Throttle.backlogThreshold + 1, of: ":1.1")
        queue.throttleNext()
        queue.enqueue(0, of: ":1.1")
        #expect(!queue.hasPublishBacklog(":1.1"))
        #expect(takeAll().last == 0)
        #expect(queue.isEmpty)
    }

    // MARK: Deficits

    @Test mutating func aCallerWithADeficitIsPassedOverUntilOthersHaveUsedAsMuch() {
        for call in 1...3 { queue.enqueue(call, of: ":1.1") }
        for call in 11...15 { queue.enqueue(call, of: ":1.2") }
        #expect(queue.nextCaller() == ":1.1")
        #expect(queue.dequeue() == 1)
        queue.charge(":1.1", 1_000)
        #expect(queue.mustQueue(":1.1"))
        #expect(takeAll() == [11, 12, 13, 14, 2, 15, 3])
    }

    @Test mutating func aCheapCallMakesNoDeficit() {
        queue.enqueue(1, of: ":1.1")
        queue.enqueue(2, of: ":1.2")
        queue.charge(":1.3", 100)
        #expect(!queue.mustQueue(":1.3"))
    }

    @Test mutating func aSingleCallerHasNoDeficit() {
        for call in 1...2 { queue.enqueue(call, of: ":1.1") }
        queue.charge(":1.1", 1_000_000)
        #expect(takeAll() == [1, 2])
        #expect(!queue.mustQueue(":1.1"))
    }

    @Test mutating func theSmallestDeficitIsServedFirst() {
        queue.enqueue(1, of: ":1.1")
        queue.enqueue(2, of: ":1.2")
        queue.charge(":1.1", 2_000_000)
        queue.charge(":1.2", 1_000_000)
        #expect(takeAll() == [2, 1])
    }

    // MARK: Before windows end

    /// Dequeues all calls to handle before windows end.
    private mutating func dequeueForClaims() -> [Int] {
        var calls: [Int] = []
        while let (_, call) = queue.dequeueForClaim() { calls.append(call) }
        return calls
    }

    @Test mutating func onlyClaimsAreHandledBeforeWindowsEnd() {
        for call in 1...3 { queue.enqueue(call, of: ":1.1", kind: .reading) }
        queue.enqueue(4, of: ":1.2", kind: .claim)
        #expect(dequeueForClaims() == [4])
        #expect(takeAll() == [1, 2, 3])
        #expect(queue.isEmpty)
    }

    @Test mutating func aClaimOvertakesReadsOfItsCallerAndNotItsPublishes() {
        queue.enqueue(1, of: ":1.1", kind: .reading)
        queue.enqueue(2, of: ":1.1", kind: .publish)
        queue.enqueue(3, of: ":1.1", kind: .claim)
        queue.enqueue(4, of: ":1.1", kind: .publish)
        #expect(dequeueForClaims() == [2, 3])
        #expect(takeAll() == [1, 4])
    }

    @Test mutating func claimantsAreServedRoundRobin() {
        for call in 1...3 { queue.enqueue(call, of: ":1.1", kind: .claim) }
        for call in 4...5 { queue.enqueue(call, of: ":1.2", kind: .claim) }
        #expect(dequeueForClaims() == [1, 4, 2, 5, 3])
        #expect(queue.isEmpty)
        #expect(!queue.isReady)
    }

    @Test mutating func theClaimOfABlockedCallerWaits() {
        queue.enqueue(1, of: ":1.1", kind: .claim)
        queue.blockNext()
        #expect(dequeueForClaims() == [])
        queue.unblock(":1.1")
        #expect(dequeueForClaims() == [1])
    }

    @Test mutating func aDequeuedClaimIsNotCountedAgain() {
        queue.enqueue(1, of: ":1.1", kind: .claim)
        queue.enqueue(2, of: ":1.1", kind: .reading)
        #expect(queue.nextCaller() == ":1.1")
        #expect(queue.dequeue() == 1)
        #expect(dequeueForClaims() == [])
        #expect(takeAll() == [2])
    }
}

struct ThrottleTests {
    private var throttle = Throttle()
    private var now = Instant(microseconds: 1_000_000)

    /// Calls that a caller with a backlog may make before the next refill.
    private mutating func allowed(atMost count: Int = 1_000) -> Int {
        (0..<count).first { _ in !throttle.allows(":1.1", at: now) } ?? count
    }

    @Test mutating func aBacklogIsLimitedToBurstsWhileAnotherCallerIsActive() {
        throttle.recordCall(by: ":1.2", at: now)
        #expect(allowed() == Throttle.burst)
        #expect(allowed() == 0)
        throttle.refill()
        #expect(allowed() == Throttle.burst)
    }

    @Test mutating func aCallerAloneIsNotLimited() {
        #expect(allowed() == 1_000)
        // It has also called without a backlog.
        throttle.recordCall(by: ":1.1", at: now)
        #expect(allowed() == 1_000)
    }

    @Test mutating func aCallerThatHasNotCalledForAWhileIsNotActive() {
        throttle.recordCall(by: ":1.2", at: now)
        now = now + (Throttle.activityTimeout - .microseconds(1))
        #expect(allowed() == Throttle.burst)
        now = now + .microseconds(1)
        #expect(allowed() == 1_000)
    }

    /// Its own calls, made without a backlog, do not hide those of another caller.
    @Test mutating func theLastTwoCallersAreRemembered() {
        throttle.recordCall(by: ":1.3", at: now)
        throttle.recordCall(by: ":1.2", at: now)
        for _ in 0..<3 { throttle.recordCall(by: ":1.1", at: now) }
        #expect(allowed() == Throttle.burst)
        throttle.refill()
        throttle.recordCall(by: ":1.2", at: now + .milliseconds(500))
        now = now + Throttle.activityTimeout
        #expect(allowed() == Throttle.burst)
    }
}

struct UnreadRepliesTests {
    private var unread = UnreadReplies()

    @Test mutating func whoGetsLittleIsNeverAsked() {
        #expect(unread.sent(UnreadReplies.askAbove, to: ":1.1") == false)
        #expect(!unread.mustWait(":1.1"))
    }

    @Test mutating func whoDoesNotAnswerWaitsAboveTheLimitAndNobodyElseDoes() {
        #expect(unread.sent(UnreadReplies.limit, to: ":1.1") == true)
        #expect(!unread.mustWait(":1.1"))
        // It is asked once.
        #expect(unread.sent(1, to: ":1.1") == false)
        #expect(unread.mustWait(":1.1") && !unread.mustWait(":1.2"))
        unread.remove(":1.1")
        #expect(!unread.mustWait(":1.1"))
    }

    @Test mutating func anAnswerIsForWhatWasSentBeforeTheQuestion() {
        #expect(unread.sent(UnreadReplies.limit, to: ":1.1") == true)
        #expect(unread.sent(UnreadReplies.limit + 1, to: ":1.1") == false)
        // What is left is asked about again.
        #expect(unread.answeredPing(":1.1") == true)
        #expect(unread.mustWait(":1.1"))
        #expect(unread.answeredPing(":1.1") == false)
        #expect(!unread.mustWait(":1.1"))
    }
}
