import Journal
import Routing
import Testing

/// Two clocks tell when an event is over: one that nobody can set, and the wall's.
struct ExpiryTests {
    private let hour: Int64 = 3_600_000_000
    private var expiry: Expiry { Expiry(wall: 1_000 * hour, uptime: 50 * hour, boot: "this") }

    @Test(arguments: [-240, -1, 0, 1, 240]) func aStepOfTheWallClockChangesNothingWithinABoot(hours: Int64) {
        #expect(expiry.left(wall: 990 * hour + hours * hour, uptime: 40 * hour, boot: "this") == .seconds(36_000))
    }

    @Test func timeAsleepCounts() {
        // CLOCK_BOOTTIME has gone on through eight hours of suspend.
        #expect(expiry.left(wall: 998 * hour, uptime: 48 * hour, boot: "this") == .seconds(7_200))
        #expect(expiry.left(wall: 1_002 * hour, uptime: 52 * hour, boot: "this") == .seconds(-7_200))
    }

    @Test func afterAnotherBootTheWallClockDecides() {
        #expect(expiry.left(wall: 999 * hour, uptime: 1, boot: "next") == .seconds(3_600))
        #expect(expiry.left(wall: 1_001 * hour, uptime: 1, boot: "next") == .seconds(-3_600))
    }
}
