import Testing

@testable import NotifyDaemon

struct FairQueueTests {
    private var queue = FairQueue<Int>()

    /// Takes everything whose turn comes.
    private mutating func takeAll() -> [Int] {
        var calls: [Int] = []
        while queue.next() != nil { calls.append(queue.takeNext()) }
        return calls
    }

    @Test mutating func callersTakeTurnsAndKeepTheirOrder() {
        for call in 1...4 { queue.put(call, of: ":1.1") }
        for call in 5...6 { queue.put(call, of: ":1.2") }
        queue.put(7, of: ":1.3")
        #expect(takeAll() == [1, 5, 7, 2, 6, 3, 4])
        #expect(queue.isEmpty)
    }

    @Test mutating func whatIsLeftOfACallComesBeforeTheNextOfItsCaller() {
        queue.put(1, of: ":1.1", kind: .reading)
        queue.put(2, of: ":1.1")
        queue.put(3, of: ":1.2")
        #expect(queue.next() == ":1.1")
        _ = queue.takeNext()
        queue.putBack(4, of: ":1.1")
        #expect(queue.isWaiting(":1.1"))
        #expect(takeAll() == [3, 4, 2])
        queue.putBack(5, of: ":1.1")
        #expect(takeAll() == [5])
        #expect(queue.isEmpty)
    }

    @Test mutating func whatSomebodyOnlyReadsIsDroppedWhenTheyLeave() {
        for call in 1...2 { queue.put(call, of: ":1.1", bytes: 100, kind: .reading) }
        queue.put(3, of: ":1.1", kind: .claim)
        queue.put(4, of: ":1.2")
        queue.putLast(5, of: ":1.1")
        #expect(takeAll() == [3, 4, 5])
        queue.put(6, of: ":1.1", kind: .reading)
        queue.putLast(7, of: ":1.1")
        #expect(takeAll() == [7])
        #expect(queue.isEmpty)
    }

    @Test mutating func whoIsHeldKeepsNobodyElseWaiting() {
        for call in 1...2 { queue.put(call, of: ":1.1") }
        queue.put(3, of: ":1.2")
        queue.holdNext()
        queue.put(4, of: ":1.1")
        #expect(takeAll() == [3])
        #expect(!queue.isEmpty)
        #expect(!queue.isReady)
        #expect(queue.isWaiting(":1.1"))
        queue.release(":1.1")
        queue.release(":1.1")
        queue.release(":1.2")
        #expect(takeAll() == [1, 2, 4])
    }

    @Test mutating func theLineOfOneIsLimitedInLength() {
        for call in 1...FairQueue<Int>.lengthLimit {
            #expect(queue.hasRoom(for: ":1.1"))
            queue.put(call, of: ":1.1")
        }
        #expect(!queue.hasRoom(for: ":1.1"))
        #expect(queue.hasRoom(for: ":1.2"))
        _ = queue.takeNext()
        #expect(queue.hasRoom(for: ":1.1"))
    }

    @Test mutating func theLineOfOneIsLimitedInBytes() {
        queue.put(1, of: ":1.1", bytes: FairQueue<Int>.bytesLimit)
        #expect(!queue.hasRoom(for: ":1.1"))
        #expect(queue.hasRoom(for: ":1.2"))
        _ = queue.takeNext()
        #expect(queue.hasRoom(for: ":1.1"))
    }

    @Test mutating func nothingIsReadWhileThereIsTooMuchToBeHandled() {
        let size = FairQueue<Int>.bytesLimit
        for caller in 1...FairQueue<Int>.totalLimit / size { queue.put(caller, of: ":1.\(caller)", bytes: size) }
        #expect(queue.isFull)
        _ = queue.takeNext()
        #expect(!queue.isFull)
    }

    /// What ends their waiting has to be read.
    @Test mutating func whereAllAreHeldReadingGoesOnAndNothingMoreMayWait() {
        let size = FairQueue<Int>.bytesLimit
        let callers = (1...FairQueue<Int>.totalLimit / size).map { ":1.\($0)" }
        for caller in callers {
            queue.put(1, of: caller, bytes: size)
            queue.holdNext()
        }
        #expect(!queue.isFull)
        #expect(!queue.hasRoom(for: ":1.100"))
        queue.release(callers[0])
        #expect(queue.isFull)
        #expect(queue.hasRoom(for: ":1.100"))
    }

    // MARK: Crowds

    private mutating func putPushes(_ count: Int, of caller: String) {
        for push in 1...count { queue.put(push, of: caller, kind: .push) }
    }

    @Test mutating func manyPushesOfOneAreACrowd() {
        putPushes(FloodGate.crowd, of: ":1.1")
        #expect(!queue.isCrowd(":1.1"))
        putPushes(1, of: ":1.1")
        #expect(queue.isCrowd(":1.1"))
        #expect(!queue.isCrowd(":1.2"))
        _ = queue.takeNext()
        #expect(!queue.isCrowd(":1.1"))
    }

    @Test mutating func whoRestsKeepsHisOrderAndNobodyElseWaiting() {
        putPushes(2, of: ":1.1")
        queue.put(3, of: ":1.2")
        queue.restNext()
        queue.put(4, of: ":1.1", kind: .push)
        #expect(takeAll() == [3])
        #expect(!queue.isReady)
        // That is for those who are held.
        queue.release(":1.1")
        #expect(!queue.isReady)
        queue.resume()
        queue.resume()
        #expect(takeAll() == [1, 2, 4])
        #expect(queue.isEmpty)
    }

    /// A claim is not late because of the pushes before it.
    @Test mutating func whatIsNoPushEndsTheRest() {
        putPushes(FloodGate.crowd + 1, of: ":1.1")
        queue.restNext()
        queue.put(0, of: ":1.1")
        #expect(!queue.isCrowd(":1.1"))
        #expect(takeAll().last == 0)
        #expect(queue.isEmpty)
    }

    // MARK: Costs

    @Test mutating func whoHasCostMuchWaitsUntilTheOthersHaveHadAsMuch() {
        for call in 1...3 { queue.put(call, of: ":1.1") }
        for call in 11...15 { queue.put(call, of: ":1.2") }
        #expect(queue.next() == ":1.1")
        #expect(queue.takeNext() == 1)
        queue.charge(":1.1", 1_000)
        #expect(queue.mustWait(":1.1"))
        #expect(takeAll() == [11, 12, 13, 14, 2, 15, 3])
    }

    @Test mutating func whoIsCheapOwesNothing() {
        queue.put(1, of: ":1.1")
        queue.put(2, of: ":1.2")
        queue.charge(":1.3", 100)
        #expect(!queue.mustWait(":1.3"))
    }

    @Test mutating func whoIsAloneWaitsForNobody() {
        for call in 1...2 { queue.put(call, of: ":1.1") }
        queue.charge(":1.1", 1_000_000)
        #expect(takeAll() == [1, 2])
        #expect(!queue.mustWait(":1.1"))
    }

    @Test mutating func whereAllHaveCostMuchTheLeastGoesFirst() {
        queue.put(1, of: ":1.1")
        queue.put(2, of: ":1.2")
        queue.charge(":1.1", 2_000_000)
        queue.charge(":1.2", 1_000_000)
        #expect(takeAll() == [2, 1])
    }

    // MARK: Before windows end

    /// Takes all that has to be handled before windows end.
    private mutating func takeForClaims() -> [Int] {
        var calls: [Int] = []
        while let (_, call) = queue.takeForClaim() { calls.append(call) }
        return calls
    }

    @Test mutating func onlyClaimsGoBeforeWindowsEnd() {
        for call in 1...3 { queue.put(call, of: ":1.1", kind: .reading) }
        queue.put(4, of: ":1.2", kind: .claim)
        #expect(takeForClaims() == [4])
        #expect(takeAll() == [1, 2, 3])
        #expect(queue.isEmpty)
    }

    @Test mutating func aClaimGoesBeforeTheReadingOfItsCallerAndBehindItsPushes() {
        queue.put(1, of: ":1.1", kind: .reading)
        queue.put(2, of: ":1.1", kind: .push)
        queue.put(3, of: ":1.1", kind: .claim)
        queue.put(4, of: ":1.1", kind: .push)
        #expect(takeForClaims() == [2, 3])
        #expect(takeAll() == [1, 4])
    }

    @Test mutating func claimantsTakeTurns() {
        for call in 1...3 { queue.put(call, of: ":1.1", kind: .claim) }
        for call in 4...5 { queue.put(call, of: ":1.2", kind: .claim) }
        #expect(takeForClaims() == [1, 4, 2, 5, 3])
        #expect(queue.isEmpty)
        #expect(!queue.isReady)
    }

    @Test mutating func theClaimOfACallerWhoIsHeldWaits() {
        queue.put(1, of: ":1.1", kind: .claim)
        queue.holdNext()
        #expect(takeForClaims() == [])
        queue.release(":1.1")
        #expect(takeForClaims() == [1])
    }

    @Test mutating func aClaimThatHadItsTurnIsNotLookedForAgain() {
        queue.put(1, of: ":1.1", kind: .claim)
        queue.put(2, of: ":1.1", kind: .reading)
        #expect(queue.next() == ":1.1")
        #expect(queue.takeNext() == 1)
        #expect(takeForClaims() == [])
        #expect(takeAll() == [2])
    }
}
