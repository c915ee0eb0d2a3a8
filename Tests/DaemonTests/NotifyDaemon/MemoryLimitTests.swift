import Foundation
import Journal
import NotifyTestSupport
import Testing

@testable import NotifyDaemon
@testable import Routing

struct MemoryLimitTests {
    /// The longest topic, global name and connection name.
    private static let topic = 255
    private static let name = 2 * (256 + MemoryCost.text)
    /// The daemon without events, with SQLite's cache.
    private static let base = 24 << 20
    /// What the messages cost that the bus has not taken: signals, replies, and two snapshots that are being made.
    private static let sending = (4 << 20) + 2 * Journal.answerLimit

    /// Everything that clients can make grow, each at its limit.
    private var atTheLimits: Int {
        let limits = Limits()
        let values = limits.valueBytes + limits.removals * (MemoryCost.removal + Self.topic + Self.name)
        let screens = limits.screens * (MemoryCost.screen + Self.topic) + limits.questions * MemoryCost.question
        let claims =
            limits.awaitedBytes + limits.holds * MemoryCost.hold + limits.graces * (MemoryCost.grace + Self.topic)
        let banners = limits.retractableBytes + limits.snoozeBytes + (limits.mutes + limits.digests) * 512
        // A call is kept as a message and as what was read from it.
        let calls = 2 * FairQueue<Void>.totalLimit
        let signals = SignalQueue.memoryLimit + SignalQueue.lengthLimit * MemoryLayout<SignalQueue.Entry>.stride
        return Self.base + Self.sending + limits.undecidedBytes + limits.globalIDBytes + values + screens + claims
            + banners + calls + signals
    }

    @Test func allLimitsTogetherFitIntoTheMemoryOfTheUnit() throws {
        let unit = try Project.text("systemd/notifyd.service")
        let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix("MemoryMax=") })
        let memory = try #require(Int(line.dropFirst("MemoryMax=".count).dropLast())) << 20
        #expect(line.hasSuffix("M"))
        #expect(atTheLimits <= memory * 7 / 8, "\(atTheLimits >> 20) MiB of \(memory >> 20)")
    }
}
