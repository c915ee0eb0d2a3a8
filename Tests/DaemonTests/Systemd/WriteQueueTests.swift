import Testing

@testable import Systemd

/// What a connection reckons that the bus has not taken.
struct WriteQueueTests {
    private let overhead = WriteQueue.overhead

    @Test func whatTheBusTakesAtOnceDoesNotCount() {
        var queue = WriteQueue()
        queue.sent(5000, queued: 0)
        #expect(queue.bytes == 0)
    }

    @Test func whatCameFirstLeavesFirst() {
        var queue = WriteQueue()
        for (index, size) in [100, 20_000, 3].enumerated() { queue.sent(size, queued: index + 1) }
        #expect(queue.bytes == 20_103 + 3 * overhead)
        queue.settle(queued: 2)
        #expect(queue.bytes == 20_003 + 2 * overhead)
        queue.settle(queued: 1)
        #expect(queue.bytes == 3 + overhead)
        queue.settle(queued: 0)
        #expect(queue.bytes == 0)
    }

    /// A message that the bus has begun to take is queued until it has all of it.
    @Test func aMessageCountsWholeUntilItIsTaken() {
        var queue = WriteQueue()
        queue.sent(1 << 20, queued: 1)
        queue.settle(queued: 1)
        #expect(queue.bytes == 1 << 20 + overhead)
    }

    @Test func oneThatIsSentWhileOthersLeaveIsTheLast() {
        var queue = WriteQueue()
        queue.sent(100, queued: 1)
        queue.sent(200, queued: 2)
        queue.sent(7, queued: 1)
        #expect(queue.bytes == 7 + overhead)
    }

    @Test func whatWasQueuedByItselfCountsAsAFewKilobytes() {
        var queue = WriteQueue()
        queue.sent(100, queued: 3)
        #expect(queue.bytes == 100 + overhead + 2 * WriteQueue.unknown)
        queue.settle(queued: 2)
        #expect(queue.bytes == 2 * WriteQueue.unknown)
    }

    /// As much as sd-bus itself would queue, taken in portions of every size.
    @Test func aLongQueueIsReckonedToTheEnd() {
        let length = 393_216
        var queue = WriteQueue()
        var expected = 0
        for size in 1...length {
            queue.sent(size, queued: size)
            expected += size + overhead
        }
        #expect(queue.bytes == expected)
        var taken = 0
        var portion = 0
        while taken < length {
            portion = min(portion + 1, length - taken)
            for size in taken + 1...taken + portion { expected -= size + overhead }
            taken += portion
            queue.settle(queued: length - taken)
            #expect(queue.bytes == expected)
        }
        #expect(queue.bytes == 0)
    }
}
