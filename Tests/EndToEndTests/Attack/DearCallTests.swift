import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// One connection makes hundreds of dear calls without waiting, while windows of others end. What others notice of it
/// is bounded; the limits are many times what a release build needs on a machine of its own.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct DearCallTests {
    private let rig: Rig! = Fixture.current()

    /// Handled in one go, all pages took 17 seconds even with optimisation, and 950 MiB.
    private static let patience: Duration = .seconds(5)
    private static let memoryLimit = environmentNumber("NOTIFYD_ATTACK_MIB") ?? 96

    struct Flood: Sendable, CustomTestStringConvertible {
        let member: String
        let count: Int
        var interface = Router.interface
        var signature = ""
        var body: @Sendable (inout WireWriter) -> Void = { _ in }

        var testDescription: String { member }

        var bytes: [UInt8] {
            var bytes: [UInt8] = []
            for serial in 0..<count {
                var message = WireMessage(serial: UInt32(serial + 2), member: member)
                message.interface = interface
                message.signature = signature
                var writer = WireWriter()
                body(&writer)
                message.body = writer.bytes
                bytes += message.bytes
            }
            return bytes
        }
    }

    private static let floods = [
        Flood(member: "History", count: 256, signature: "stu") {
            $0.string("/")
            $0.number(UInt64(0))
            $0.number(UInt32(1000))
        },
        Flood(member: "Snapshot", count: 256, signature: "s") { $0.string("/") },
        Flood(member: "Unread", count: 4000, signature: "s") { $0.string("/") },
        Flood(member: "Explain", count: 4000, signature: "t") { $0.number(UInt64(1)) },
        Flood(member: "ListScreens", count: 2000),
        Flood(member: "Introspect", count: 4000, interface: "org.freedesktop.DBus.Introspectable"),
        Flood(member: "GetAll", count: 4000, interface: "org.freedesktop.DBus.Properties", signature: "s") {
            $0.string(Router.interface)
        },
        Flood(member: "ClaimTopic", count: 4000, signature: "su") {
            $0.string("/nothing")
            $0.number(UInt32(0))
        },
        Flood(member: "Forget", count: 4000, signature: "st") {
            $0.string("/nothing")
            $0.number(UInt64(0))
        },
        Flood(member: "OpenScreen", count: 4000, signature: "sa{sv}") {
            $0.string("/elsewhere")
            $0.array(alignment: 8) { _ in }
        },
    ]

    @Test(.rig(configuration: "[banner]\nmax_per_second = 0\n[defaults]\nwindow = \"100ms\"\n"), arguments: floods)
    func aFloodOfDearCallsDelaysNobodyElse(_ flood: Flood) async throws {
        try await fill(rig)
        for number in 1...250 { _ = try await rig.client.openScreen("/elsewhere/\(number)") }
        let address = rig.bus.address
        let isOver = Locked(false)
        let answered = Locked(0)
        onOwnThread {
            guard let attacker = try? RawConnection(address) else { return }
            let bytes = flood.bytes
            attacker.write(bytes)
            while !isOver.withLock({ $0 }), let message = try? attacker.read() {
                if message.kind == .methodCall {
                    attacker.answer(message)
                } else {
                    answered.withLock { $0 += 1 }
                }
            }
        }
        let begin = ContinuousClock.now
        var longestSend = Duration.zero
        var longestBanner = Duration.zero
        while answered.withLock({ $0 }) < flood.count, .now - begin < .seconds(4) {
            let sent = ContinuousClock.now
            _ = try await rig.client.send("/note/1", title: "Another's")
            longestSend = max(longestSend, .now - sent)
            let banner = try #require(await rig.server.banners.next(within: .seconds(60)))
            longestBanner = max(longestBanner, banner.arrival - sent - .milliseconds(100))
        }
        let peak = rig.daemon.peakMemory
        print(
            "\(flood.member): \(answered.withLock { $0 }) answers, Send \(longestSend), banner late by",
            "\(longestBanner), \(peak) MiB")
        isOver.withLock { $0 = true }
        #expect(longestSend < Self.patience * Timeouts.factor)
        #expect(longestBanner < Self.patience * Timeouts.factor)
        #expect(peak < Self.memoryLimit)
    }

    /// A thousand events of 4 KB, of which a hundred are the values of their topics.
    private func fill(_ rig: Rig) async throws {
        let body = String(repeating: "x", count: 4000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...1000 {
                group.addTask {
                    let options = PublishOptions(retain: number <= 100, banner: false)
                    _ = try await rig.client.publish("/run/r1/mate/m\(number)", body: body, options: options)
                }
            }
            try await group.waitForAll()
        }
    }
}
