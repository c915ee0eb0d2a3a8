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

    /// The end of a pause: after another boot the wall clock has to count, but prolongs nothing.
    @Test func aClockThatIsSetNeitherLiftsNorProlongsAPause() {
        let end = StoredQuiet.End(moment: Expiry(wall: 1_000_000, uptime: 500, boot: "boot"), left: 300)
        for wall: Int64 in [0, 999_900, 90_000_000] {
            #expect(end.left(wall: wall, uptime: 400, boot: "boot") == .microseconds(100))
        }
        #expect(end.left(wall: 999_900, uptime: 1, boot: "another") == .microseconds(100))
        #expect(end.left(wall: 0, uptime: 1, boot: "another") == .microseconds(300))
        #expect(end.left(wall: 1_000_001, uptime: 1, boot: "another") < .zero)
    }
}
