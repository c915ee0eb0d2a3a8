import Routing
import Testing

@testable import Journal

/// How much time has passed for certain: what clocks say that may be wrong, and stop.
struct RetentionClockTests {
    private static let day: Int64 = 86_400
    private var clock = RetentionClock()

    /// - Parameters:
    ///   - uptime: seconds since the boot.
    ///   - wall: seconds on the wall clock.
    private mutating func read(_ uptime: Int64, _ wall: Int64, _ boot: String = "1") {
        clock.advance(to: ClockReading(wall: wall * 1_000_000, uptime: uptime * 1_000_000, boot: boot))
    }

    private var seconds: Int64 { clock.age / 1_000_000 }

    /// Two hours of the first boot, whose wall clock begins at 0.
    private mutating func begin() {
        for minute in 0...120 as ClosedRange<Int64> { read(minute * 60, minute * 60) }
    }

    @Test(arguments: [-365 * day, -31 * day, 31 * day, 365 * day])
    mutating func aWallClockThatIsSetChangesNothingWithinABoot(_ step: Int64) {
        begin()
        for minute in 121...600 as ClosedRange<Int64> { read(minute * 60, minute * 60 + step) }
        read(36_060, 36_060)
        #expect(seconds == 36_060)
    }

    @Test mutating func timeOffCountsAfterAnHour() {
        begin()
        let off = 10 * Self.day
        for second in [60, 1_800, 3_600] as [Int64] {
            read(second, 7_200 + off + second, "2")
            #expect(seconds == 7_200 + second - 60)
        }
        read(3_660, 7_200 + off + 3_660, "2")
        #expect(seconds == 7_200 + off + 3_660)
        read(7_260, 7_200 + off + 7_260, "2")
        #expect(seconds == 7_200 + off + 7_260)
    }

    @Test mutating func aClockThatIsCorrectedWithinTheHourIsNotBelieved() {
        begin()
        read(60, 7_200 + 400 * Self.day, "2")
        read(3_000, 7_200 + 400 * Self.day + 2_940, "2")
        for second in stride(from: 3_060, through: 9_000, by: 60) { read(Int64(second), 7_200 + Int64(second), "2") }
        #expect(seconds == 7_200 + 9_000)
    }

    /// A machine without a clock that runs while it is off begins somewhere in the past, for hours perhaps.
    @Test mutating func aClockThatWasBehindCountsNothingTwice() {
        let now = 20_000 * Self.day
        for hour in 0...5 as ClosedRange<Int64> { read(hour * 3_600, now + hour * 3_600) }
        for hour in 0...5 as ClosedRange<Int64> { read(hour * 3_600, hour * 3_600, "2") }
        for hour in 0...5 as ClosedRange<Int64> { read(hour * 3_600, now + Self.day + hour * 3_600, "3") }
        #expect((10 * 3_600...Self.day + 6 * 3_600).contains(seconds))
    }

    @Test mutating func aFirstBootThatIsBehindAndCorrectedIsNoTimeOff() {
        let now = 20_000 * Self.day
        for hour in 0...5 as ClosedRange<Int64> { read(hour * 3_600, hour * 3_600) }
        for hour in 6...9 as ClosedRange<Int64> { read(hour * 3_600, now + hour * 3_600) }
        for hour in 0...5 as ClosedRange<Int64> { read(hour * 3_600, now + Self.day + hour * 3_600, "2") }
        #expect(seconds <= 9 * 3_600 + Self.day)
    }

    @Test mutating func aClockThatIsBehindWhatTheJournalHasSeenDoesNotCount() {
        let now = 20_000 * Self.day
        for hour in 0...5 as ClosedRange<Int64> {
            let reading = ClockReading(wall: hour * 3_600_000_000, uptime: hour * 3_600_000_000, boot: "1")
            clock.advance(to: reading, notBefore: now * 1_000_000)
        }
        #expect(clock.state.lead == nil)
        for hour in 0...5 as ClosedRange<Int64> { read(hour * 3_600, now + hour * 3_600, "2") }
        #expect(seconds == 10 * 3_600)
    }

    @Test mutating func aRestartGoesOnWhereItWas() {
        begin()
        clock = RetentionClock(clock.state)
        read(9_000, 9_000 + 31 * Self.day)
        #expect(seconds == 9_000)
        // The time off of this boot has not been counted yet, and is once.
        read(0, 20_000, "2")
        clock = RetentionClock(clock.state)
        read(60, 20_060, "2")
        clock = RetentionClock(clock.state)
        for second in stride(from: 120, through: 3_780, by: 60) { read(Int64(second), 20_000 + Int64(second), "2") }
        #expect(seconds == 20_000 + 3_780)
    }

    @Test func marksSayBetweenWhichAgesAnEventCameIn() {
        var marks = RetentionMarks()
        for (id, age) in [(10, 100), (20, 200), (30, 300)] as [(Int64, Int64)] { marks.add(.init(id: id, age: age)) }
        // Neither without news nor back in time.
        marks.add(.init(id: 30, age: 400))
        marks.add(.init(id: 40, age: 50))
        #expect(marks.marks.count == 3)
        #expect(marks.newestID(notAfter: 99) == 0)
        #expect(marks.newestID(notAfter: 250) == 20)
        #expect(marks.age(of: 10) == 100)
        #expect(marks.age(of: 11) == 200)
        #expect(marks.age(of: 31) == nil)
        marks.prune(notAfter: 250)
        #expect(marks.newestID(notAfter: 250) == 20)
        #expect(marks.marks.count == 2)
    }
}

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
