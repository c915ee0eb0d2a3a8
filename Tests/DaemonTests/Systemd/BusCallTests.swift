import NotifyClient
import Testing

@testable import Systemd

/// Calls to a program that never answers.
@Suite(.timeLimit(.minutes(1)))
struct BusCallTests {
    @Test func callsTimeOutOneAfterTheOtherAndThoseWithoutATimeoutWait() async throws {
        let daemon = try ChildProcess(
            "/usr/bin/dbus-daemon", ["--session", "--nofork", "--print-address"], environment: [:], capturing: [1])
        let address = try #require(await daemon.lines(of: 1).next(within: .seconds(30)))
        #expect(try Self.ends(on: address) == [true, true])
        await daemon.end()
    }

    /// Replies come alone and in bursts, and those that are read while a program waits for another one.
    @Test func everyReplyIsHandledAndInOrder() async throws {
        let daemon = try ChildProcess(
            "/usr/bin/dbus-daemon", ["--session", "--nofork", "--print-address"], environment: [:], capturing: [1])
        let address = try #require(await daemon.lines(of: 1).next(within: .seconds(30)))
        #expect(try Self.replies(on: address) == Array(0..<600))
        await daemon.end()
    }

    private static func replies(on address: String) throws -> [Int] {
        let loop = try EventLoop()
        let bus = try BusConnection(address: address)
        var replies: [Int] = []
        func ask(_ number: Int, then next: @escaping () -> Void = {}) {
            let question = bus.methodCall(
                to: "org.freedesktop.DBus", path: "/", interface: "org.freedesktop.DBus.Peer", member: "Ping")
            bus.call(question, timeout: nil) { _ in
                replies.append(number)
                next()
            }
        }
        func askAlone(_ number: Int) {
            ask(number) {
                if number + 1 < 600 { askAlone(number + 1) } else { loop.exit(0) }
            }
        }
        for number in 0..<200 { ask(number) }
        // It reads the replies that come before its own.
        try bus.requestName("org.notifyd.Asking")
        try bus.attach(to: loop)
        for number in 200..<499 { ask(number) }
        ask(499) { askAlone(500) }
        let end = try loop.timer(.monotonic) { loop.exit(1) }
        end.arm(at: Clock.monotonic() + 30_000_000)
        _ = try loop.run()
        return withExtendedLifetime(end) { replies }
    }

    /// Whether each call that has ended has timed out.
    private static func ends(on address: String) throws -> [Bool] {
        let name = "org.notifyd.Silent"
        let silent = try BusConnection(address: address)
        try silent.requestName(name)
        let loop = try EventLoop()
        let bus = try BusConnection(address: address)
        try bus.attach(to: loop)
        var ends: [Bool] = []
        func ask(for time: Duration?, then next: @escaping () -> Void) {
            let question = bus.methodCall(to: name, path: "/", interface: name, member: "Ask")
            bus.call(question, timeout: time) { answer in
                ends.append(answer.failure?.isTimeout == true)
                next()
            }
        }
        ask(for: nil) {}
        ask(for: .milliseconds(10)) {
            // The timer has gone off once, and is needed again.
            ask(for: .milliseconds(10)) { loop.exit(0) }
        }
        let end = try loop.timer(.monotonic) { loop.exit(1) }
        end.arm(at: Clock.monotonic() + 30_000_000)
        _ = try loop.run()
        return withExtendedLifetime((silent, end)) { ends }
    }
}

/// Messages are accepted by the sender that the bus has written.
struct SpeakerTests {
    @Test func onlyTheBusIsTheBus() {
        #expect(ExpectedSender.bus.matches("org.freedesktop.DBus"))
        #expect(!ExpectedSender.bus.matches(":1.7"))
        #expect(!ExpectedSender.bus.matches(""))
    }

    @Test func onlyTheLibraryReportsOnItsConnection() {
        #expect(ExpectedSender.library.matches("org.freedesktop.DBus.Local"))
        #expect(!ExpectedSender.library.matches(":1.7"))
        #expect(!ExpectedSender.library.matches("org.freedesktop.DBus"))
    }

    @Test func onlyTheOwnerOfANameMatches() {
        var owner: String? = ":1.7"
        let sender = ExpectedSender.owner(of: "org.example") { owner }
        #expect(sender.matches(":1.7"))
        #expect(!sender.matches(":1.8"))
        owner = nil
        #expect(!sender.matches(":1.7"))
        #expect(!sender.matches(""))
    }

    @Test func onlyTheDestinationRepliesToACall() {
        #expect(ExpectedSender.mayReply(":1.7", callTo: ":1.7", isError: false))
        #expect(!ExpectedSender.mayReply(":1.8", callTo: ":1.7", isError: false))
        #expect(!ExpectedSender.mayReply(":1.8", callTo: ":1.7", isError: true))
        #expect(ExpectedSender.mayReply("org.freedesktop.DBus", callTo: "org.freedesktop.DBus", isError: false))
        #expect(!ExpectedSender.mayReply(":1.8", callTo: "org.freedesktop.DBus", isError: false))
    }

    /// The bus says so when the destination is gone.
    @Test func theBusRepliesForOthersWithErrorsOnly() {
        #expect(ExpectedSender.mayReply("org.freedesktop.DBus", callTo: ":1.7", isError: true))
        #expect(!ExpectedSender.mayReply("org.freedesktop.DBus", callTo: ":1.7", isError: false))
    }
}

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
