import NotifyBridge
import NotifyText
import Testing

/// Pauses between attempts, in virtual time.
struct BackoffTests {
    @Test func limitsDoubleFromASecondToFiveMinutes() {
        var backoff = Backoff(random: Fixed(.max))
        let pauses = (0..<11).map { _ in backoff.next() }
        let limits = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
        for (pause, limit) in zip(pauses, limits) {
            #expect(pause <= .seconds(limit) && pause > .seconds(limit) * 0.999)
        }
    }

    @Test func aPauseMayBeAsShortAsNothing() {
        var backoff = Backoff(random: Fixed(0))
        #expect((0..<20).allSatisfy { _ in backoff.next() == .zero })
    }

    @Test func pausesAreSpreadOverTheirWholeRange() {
        var pauses: [Duration] = []
        for seed in 1...200 {
            var backoff = Backoff(from: .seconds(10), random: Numbers(seed: UInt64(seed)))
            pauses.append(backoff.next())
        }
        #expect(pauses.allSatisfy { $0 >= .zero && $0 <= .seconds(10) })
        for quarter in 0..<4 {
            let range = Duration.seconds(quarter) * 2.5..<Duration.seconds(quarter + 1) * 2.5
            #expect(pauses.count(where: range.contains) > 20)
        }
    }

    @Test func afterASuccessPausesAreShortAgain() {
        var backoff = Backoff(random: Fixed(.max))
        for _ in 0..<8 { _ = backoff.next() }
        backoff.reset()
        #expect(backoff.next() <= .seconds(1))
    }

    @Test func attemptsArePausedUntilOneHasAResult() async throws {
        let clock = VirtualClock()
        var attempts = 0
        let result = try await retrying(Backoff(random: Fixed(.max)), on: clock) { () -> Int? in
            attempts += 1
            return attempts == 5 ? 7 : nil
        }
        #expect(result == 7 && attempts == 5)
        #expect(clock.slept.count == 4)
        #expect(clock.slept.reduce(.zero, +) > .milliseconds(14_990) && clock.slept.reduce(.zero, +) <= .seconds(15))
    }

    @Test func anErrorEndsTheAttempts() async {
        struct Refused: Error {}
        let clock = VirtualClock()
        await #expect(throws: Refused.self) {
            try await retrying(on: clock) { () -> Int? in throw Refused() }
        }
        #expect(clock.slept.isEmpty)
    }
}

/// Always the same number.
private struct Fixed: RandomNumberGenerator, Sendable {
    let number: UInt64
    init(_ number: UInt64) { self.number = number }
    mutating func next() -> UInt64 { number }
}

/// A linear congruential generator; its high bits are good enough here.
private struct Numbers: RandomNumberGenerator, Sendable {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 32) | (state << 32)
    }
}
