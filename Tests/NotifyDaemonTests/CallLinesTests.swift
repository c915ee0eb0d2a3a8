import Testing

@testable import NotifyDaemon

struct CallLinesTests {
    private var lines = CallLines<Int>()

    /// Takes everything whose turn comes.
    private mutating func takeAll() -> [Int] {
        var calls: [Int] = []
        while lines.next != nil { calls.append(lines.takeNext()) }
        return calls
    }

    @Test mutating func callersTakeTurnsAndKeepTheirOrder() {
        for call in 1...4 { lines.put(call, of: ":1.1") }
        for call in 5...6 { lines.put(call, of: ":1.2") }
        lines.put(7, of: ":1.3")
        #expect(takeAll() == [1, 5, 7, 2, 6, 3, 4])
        #expect(lines.isEmpty)
    }

    @Test mutating func whoIsHeldKeepsNobodyElseWaiting() {
        for call in 1...2 { lines.put(call, of: ":1.1") }
        lines.put(3, of: ":1.2")
        lines.holdNext()
        lines.put(4, of: ":1.1")
        #expect(takeAll() == [3])
        #expect(!lines.isEmpty)
        #expect(!lines.isReady)
        #expect(lines.isWaiting(":1.1"))
        lines.release(":1.1")
        lines.release(":1.1")
        lines.release(":1.2")
        #expect(takeAll() == [1, 2, 4])
    }

    @Test mutating func theLineOfOneIsLimitedInLength() {
        for call in 1...CallLines<Int>.lengthLimit {
            #expect(lines.hasRoom(for: ":1.1"))
            lines.put(call, of: ":1.1")
        }
        #expect(!lines.hasRoom(for: ":1.1"))
        #expect(lines.hasRoom(for: ":1.2"))
        _ = lines.takeNext()
        #expect(lines.hasRoom(for: ":1.1"))
    }

    @Test mutating func theLineOfOneIsLimitedInBytes() {
        lines.put(1, of: ":1.1", bytes: CallLines<Int>.bytesLimit)
        #expect(!lines.hasRoom(for: ":1.1"))
        #expect(lines.hasRoom(for: ":1.2"))
        _ = lines.takeNext()
        #expect(lines.hasRoom(for: ":1.1"))
    }

    @Test mutating func nothingIsReadWhileThereIsTooMuchToBeHandled() {
        let size = CallLines<Int>.bytesLimit
        for caller in 1...CallLines<Int>.totalLimit / size { lines.put(caller, of: ":1.\(caller)", bytes: size) }
        #expect(lines.isFull)
        _ = lines.takeNext()
        #expect(!lines.isFull)
    }

    /// What ends their waiting has to be read.
    @Test mutating func whereAllAreHeldReadingGoesOnAndNothingMoreMayWait() {
        let size = CallLines<Int>.bytesLimit
        let callers = (1...CallLines<Int>.totalLimit / size).map { ":1.\($0)" }
        for caller in callers {
            lines.put(1, of: caller, bytes: size)
            lines.holdNext()
        }
        #expect(!lines.isFull)
        #expect(!lines.hasRoom(for: ":1.100"))
        lines.release(callers[0])
        #expect(lines.isFull)
        #expect(lines.hasRoom(for: ":1.100"))
    }

    // MARK: Crowds

    private mutating func putPushes(_ count: Int, of caller: String) {
        for push in 1...count { lines.put(push, of: caller, isPush: true) }
    }

    @Test mutating func manyPushesOfOneAreACrowd() {
        putPushes(FloodGate.crowd, of: ":1.1")
        #expect(!lines.isCrowd(":1.1"))
        putPushes(1, of: ":1.1")
        #expect(lines.isCrowd(":1.1"))
        #expect(!lines.isCrowd(":1.2"))
        _ = lines.takeNext()
        #expect(!lines.isCrowd(":1.1"))
    }

    @Test mutating func whoRestsKeepsHisOrderAndNobodyElseWaiting() {
        putPushes(2, of: ":1.1")
        lines.put(3, of: ":1.2")
        lines.restNext()
        lines.put(4, of: ":1.1", isPush: true)
        #expect(takeAll() == [3])
        #expect(!lines.isReady)
        // That is for those who are held.
        lines.release(":1.1")
        #expect(!lines.isReady)
        lines.resume()
        lines.resume()
        #expect(takeAll() == [1, 2, 4])
        #expect(lines.isEmpty)
    }

    /// A claim is not late because of the pushes before it.
    @Test mutating func whatIsNoPushEndsTheRest() {
        putPushes(FloodGate.crowd + 1, of: ":1.1")
        lines.restNext()
        lines.put(0, of: ":1.1")
        #expect(!lines.isCrowd(":1.1"))
        #expect(takeAll().last == 0)
        #expect(lines.isEmpty)
    }
}
