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
