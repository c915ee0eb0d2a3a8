import ArgumentParser
import Foundation
import Testing

@testable import notifyctl

/// Where to stop in the history, as people write it.
struct MomentArgumentTests {
    private let now: Int64 = 1_700_000_000_000_000

    private func time(_ text: String) throws -> String {
        guard case .time(let moment) = try MomentArgument.parse(text, now: now) else { return "an event" }
        return Timestamp(moment).text
    }

    @Test func aNumberIsAnID() throws {
        #expect(try MomentArgument.parse("1795231492321669", now: now) == .event(1_795_231_492_321_669))
        #expect(try MomentArgument.parse("2026", now: now) == .event(2026))
    }

    @Test func aDurationIsThatLongAgo() throws {
        #expect(try MomentArgument.parse("90m", now: now) == .time(now - 5_400_000_000))
        #expect(try MomentArgument.parse("30d", now: now) == .time(now - 30 * 86_400_000_000))
    }

    @Test func aDateIsLocalTimeWithOrWithoutATime() throws {
        #expect(try time("2026-05-03") == "2026-05-03 00:00:00.000")
        #expect(try time("2026-05-03 17:04") == "2026-05-03 17:04:00.000")
        #expect(try time("2026-12-31T23:59:58") == "2026-12-31 23:59:58.000")
    }

    @Test(arguments: [
        "", "yesterday", "2026-5-3", "2026-02-30", "2026-13-01", "2026-05-03 24:00", "2026-05-03 17",
        "2026-05-03 17:04:61",
        "2026-05-03 17:04 ", "2026-05-+3", "-5", "2026-05-03T17:04T05", "99999999999999999999999",
    ]) func anythingElseIsToldWhatIsRight(_ text: String) {
        let error = #expect(throws: ValidationError.self) { try MomentArgument.parse(text, now: now) }
        #expect(error?.message.contains("2026-05-03") == true)
    }
}
