import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Somebody sends calls of every wrong kind, and nobody else notices.
///
///     swift test --filter AttackTests                          a few thousand calls
///     NOTIFYD_ATTACK_SEED=17 swift test --filter AttackTests   those of another seed
///     make attack                                              ten million
@Suite(.timeLimit(.minutes(600)))
struct AttackTests {
    /// More than the daemon takes when it is built for use; without optimisation, and with a sanitizer, it takes more.
    private static let memoryLimit = environmentNumber("NOTIFYD_ATTACK_MIB") ?? 256

    @Test func hostileCallsHarmNobody() async throws {
        let calls = environmentNumber("NOTIFYD_ATTACKS") ?? 6_000
        let seed = UInt64(environmentNumber("NOTIFYD_ATTACK_SEED") ?? 1)
        try await withPrivateBus { bus in
            let server = try await NotificationServer.start(on: bus)
            let daemon = try await DaemonProcess.start(BuiltPrograms.notifyd, on: bus)
            let client = try await NotifyClient(address: bus.address)
            let isOver = Locked(false)
            let begin = ContinuousClock.now
            async let healthy = publish(with: client, until: isOver)
            let (attacker, peak) = try await attack(calls, seed, bus, daemon)
            isOver.withLock { $0 = true }
            let longest = try await healthy
            #expect(attacker.faults == [])
            #expect(daemon.exit == nil, "\(daemon.log)")
            try await expectNothingLeft(client, daemon)
            #expect(peak < Self.memoryLimit)
            let refused = attacker.refusals.values.reduce(0, +)
            print(
                "\(attacker.sent) calls over \(attacker.connections) connections in \(ContinuousClock.now - begin):",
                "\(attacker.accepted) accepted, \(refused) refused, others answered within \(longest),",
                "\(peak) MiB at most; refusals: \(attacker.refusals.sorted { $0.value > $1.value })")
            await client.close()
            server.stop()
            #expect(await daemon.stop() == .code(0))
        }
    }

    /// - Returns: what came of it, and the most memory that the daemon had, in MiB.
    private func attack(
        _ calls: Int, _ seed: UInt64, _ bus: PrivateBus, _ daemon: DaemonProcess
    ) async throws -> (Attacker, Int) {
        let address = bus.address
        return try await withCheckedThrowingContinuation { continuation in
            onOwnThread {
                var attacker = Attacker(address, seed: seed)
                do {
                    try attacker.attack(calls) { daemon.exit == nil }
                    continuation.resume(returning: (attacker, daemon.peakMemory))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    /// Publishes and claims, one event after the other.
    ///
    /// - Returns: the longest time that somebody waited for an answer.
    private func publish(with client: NotifyClient, until isOver: Locked<Bool>) async throws -> Duration {
        var longest = Duration.zero
        while !isOver.withLock({ $0 }) {
            let begin = ContinuousClock.now
            let id = try await client.send("/healthy/1", title: "I was here first")
            _ = try await client.claim(id)
            longest = max(longest, ContinuousClock.now - begin)
        }
        return longest
    }

    private func expectNothingLeft(_ client: NotifyClient, _ daemon: DaemonProcess) async throws {
        try await client.setPaused(false)
        try await waitUntil("nothing is left of the attack", within: .seconds(30), daemon) {
            _ = try await client.claimTopic("/")
            let statistics = try await client.statistics()
            return try await client.pending() == 0 && statistics["open-windows"] == 0 && statistics["open-screens"] == 0
        }
    }
}

extension DaemonProcess {
    /// The most memory the daemon ever had, in MiB.
    var peakMemory: Int {
        Int(ProcessStatistics(identifier: identifier ?? 0).peakMemory)
    }
}
