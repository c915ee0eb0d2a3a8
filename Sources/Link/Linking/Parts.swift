package import Routing

/// Allows a number of things a second, and some at once.
package struct TokenBucket {
    private let perSecond: Double
    private let burst: Double
    private var tokens: Double
    private var last: Uptime

    package init(perSecond: Double, burst: Int, at uptime: Uptime) {
        self.perSecond = perSecond
        self.burst = Double(burst)
        tokens = self.burst
        last = uptime
    }

    private mutating func refill(at uptime: Uptime) {
        let passed = Double(max(0, uptime.microseconds - last.microseconds)) / 1_000_000
        tokens = min(burst, tokens + passed * perSecond)
        last = uptime
    }

    package mutating func take(_ count: Int = 1, at uptime: Uptime) -> Bool {
        refill(at: uptime)
        guard tokens >= Double(count) else { return false }
        tokens -= Double(count)
        return true
    }

    /// How many can be taken now.
    mutating func available(at uptime: Uptime) -> Int {
        refill(at: uptime)
        return Int(tokens)
    }

    /// The time until a number can be taken.
    mutating func wait(for count: Int, at uptime: Uptime) -> Duration {
        refill(at: uptime)
        return .microseconds(Int64(max(0, Double(count) - tokens) / perSecond * 1_000_000) + 1)
    }
}

/// The difference of two clocks: the smallest of those seen in the last five to ten minutes. The smallest has the least
/// delay in it, and an old one says nothing about a clock that was set since.
/// Rule 2 of docs/link.md.
struct ClockOffset {
    private static let period: Int64 = 300_000_000

    private var current: Int64?
    private var previous: Int64?
    private var started: Uptime?

    /// This device's clock less the other's, in microseconds; 0 while nothing is known.
    var microseconds: Int64 {
        switch (current, previous) {
        case (let current?, let previous?): min(current, previous)
        default: current ?? previous ?? 0
        }
    }

    mutating func heard(_ at: Int64, wall: Int64, uptime: Uptime) {
        let difference = wall.subtractingReportingOverflow(at)
        guard !difference.overflow else { return }
        if let began = started, uptime.microseconds - began.microseconds >= Self.period {
            previous = uptime.microseconds - began.microseconds < 2 * Self.period ? current : nil
            current = nil
            started = uptime
        }
        started = started ?? uptime
        current = min(current ?? difference.partialValue, difference.partialValue)
    }
}

/// Random delays, and ids of questions. Its seed comes from the shell. The generator is xorshift64*; nothing secret
/// depends on it.
struct Jitter {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed == 0 ? 1 : seed
    }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }

    /// Between zero and a duration.
    mutating func upTo(_ duration: Duration) -> Duration {
        .microseconds(Int64(next() % UInt64(max(1, duration.microseconds + 1))))
    }
}
