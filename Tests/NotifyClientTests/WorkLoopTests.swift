import Glibc
import Testing

@testable import NotifyClient

struct WorkLoopTests {
    private let loop: WorkLoop

    init() throws { loop = try WorkLoop() }

    @Test func workIsDoneInItsOrder() async {
        let done = Mailbox<Int>()
        for number in 0..<1000 { loop.perform { done.put(number) } }
        for number in 0..<1000 { #expect(await done.next(within: .seconds(30)) == number) }
    }

    @Test func workThatAddsWorkStarvesNothing() async {
        let done = Mailbox<Void>()
        let isOver = Locked(false)
        @Sendable func again() { if !isOver.withLock({ $0 }) { loop.perform(again) } }
        loop.perform(again)
        loop.perform(after: .milliseconds(1)) { done.put(()) }
        #expect(await done.next(within: .seconds(30)) != nil)
        isOver.withLock { $0 = true }
    }

    @Test func timersFireInTheOrderOfTheirMoments() async {
        let fired = Mailbox<Int>()
        loop.perform { [loop] in
            loop.perform(after: .milliseconds(20)) { fired.put(3) }
            loop.perform(after: .milliseconds(10)) { fired.put(1) }
            loop.perform(after: .zero) { fired.put(0) }
            loop.perform(after: .milliseconds(10)) { fired.put(2) }
        }
        for number in 0...3 { #expect(await fired.next(within: .seconds(30)) == number) }
    }

    @Test func timerDoesNotFireAfterItIsCancelledOnTheLoop() async {
        let fired = Mailbox<String>()
        loop.perform { [loop] in
            // Both are due when the first one is done.
            let second = Locked<WorkTimer?>(nil)
            loop.perform(after: .zero) {
                second.withLock { $0 }?.cancel()
                fired.put("first")
            }
            second.withLock { $0 = loop.perform(after: .nanoseconds(1)) { fired.put("second") } }
            loop.perform(after: .milliseconds(5)) { fired.put("last") }
        }
        #expect(await fired.next(within: .seconds(30)) == "first")
        #expect(await fired.next(within: .seconds(30)) == "last")
    }

    @Test func longestDelayDoesNotOverflow() async {
        let timer = loop.perform(after: .seconds(Int64.max)) {}
        timer.cancel()
        #expect(await loop.task { 1 }.value == 1)
    }

    @Test func descriptorIsWatchedUntilItIsNot() async throws {
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        defer { for end in [reader, writer] { close(end) } }
        let ready = Mailbox<UInt8>()
        loop.watch(reader, for: Int16(POLLIN)) { [loop] events in
            #expect(events & Int16(POLLIN) != 0)
            var byte: UInt8 = 0
            #expect(read(reader, &byte, 1) == 1)
            ready.put(byte)
            if byte == 2 { loop.watch(reader, for: 0) { _ in } }
        }
        for byte: UInt8 in [1, 2] {
            #expect([byte].withUnsafeBytes { write(writer, $0.baseAddress, 1) } == 1)
            #expect(await ready.next(within: .seconds(30)) == byte)
        }
        // Nobody reads this one.
        #expect([3].withUnsafeBytes { write(writer, $0.baseAddress, 1) } == 1)
        await loop.task {}.value
        await loop.sleep(for: .milliseconds(1))
        #expect(ready.all == [1, 2])
    }

    @Test func otherEndThatIsClosedIsTold() async throws {
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let told = Mailbox<Int16>()
        loop.watch(reader, for: Int16(POLLIN)) { [loop] events in
            loop.watch(reader, for: 0) { _ in }
            told.put(events)
        }
        close(writer)
        #expect(await told.next(within: .seconds(30)).map { $0 & Int16(POLLHUP) != 0 } == true)
        close(reader)
    }

    @Test func tasksRunOnTheLoop() async {
        let thread = await loop.task { [loop] in
            let before = threadID()
            await loop.sleep(for: .milliseconds(1))
            let inside = await withTaskGroup(of: UInt.self) { group in
                group.addTask { threadID() }
                return await group.next()!
            }
            return Set([before, inside, threadID()])
        }.value
        #expect(thread.count == 1)
        #expect(!thread.contains(threadID()))
    }

    @Test func sleepEndsWhenTheTaskIsCancelled() async {
        let sleeping = loop.task { [loop] in await loop.sleep(for: .seconds(3600)) }
        loop.perform { sleeping.cancel() }
        await sleeping.value
        let cancelled = loop.task { [loop] in
            withUnsafeCurrentTask { $0?.cancel() }
            await loop.sleep(for: .seconds(3600))
        }
        await cancelled.value
    }

    @Test func threadEndsWithTheLoopWhenItsWorkIsDone() async throws {
        let ended = Mailbox<Void>()
        var loop: WorkLoop? = try WorkLoop()
        loop?.perform(after: .seconds(3600)) { [ending = Ending { ended.put(()) }] in
            withExtendedLifetime(ending) {}
        }
        let done = Mailbox<Void>()
        loop?.perform { done.put(()) }
        loop = nil
        #expect(await done.next(within: .seconds(30)) != nil)
        #expect(await ended.next(within: .seconds(30)) != nil)
    }
}

private func threadID() -> UInt { pthread_self() }

/// Tells when it is released.
private final class Ending: Sendable {
    private let action: @Sendable () -> Void
    init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    deinit { action() }
}
