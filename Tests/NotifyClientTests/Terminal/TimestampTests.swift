import Glibc
import Testing

@testable import notifyctl

/// How moments are told to people.
struct TimestampTests {
    /// A moment of this place's calendar.
    private func moment(day: CInt, _ hour: CInt, _ minute: CInt, _ second: CInt = 0) -> Int64 {
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (126, 4, day)
        (parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_isdst) = (hour, minute, second, -1)
        return Int64(mktime(&parts)) * 1_000_000
    }

    @Test func whatIsYoungHasAnAge() {
        let now = moment(day: 3, 14, 5)
        func text(_ seconds: Int64) -> String { Timestamp(now - seconds * 1_000_000).text(seenAt: now) }
        #expect(text(0) == "now")
        #expect(text(-1) == "now")
        #expect(text(3) == "3 s ago")
        #expect(text(59) == "59 s ago")
        #expect(text(60) == "1 min ago")
        #expect(text(3599) == "59 min ago")
    }

    @Test func whatIsOlderHasADay() {
        let now = moment(day: 3, 14, 5)
        #expect(Timestamp(moment(day: 3, 0, 0)).text(seenAt: now) == "today 00:00")
        #expect(Timestamp(moment(day: 2, 23, 59)).text(seenAt: now) == "yesterday 23:59")
        #expect(Timestamp(moment(day: 1, 23, 59)).text(seenAt: now) == "2026-05-01 23:59")
        #expect(Timestamp(moment(day: 4, 9, 0)).text(seenAt: now) == "2026-05-04 09:00")
        #expect(Timestamp(moment(day: 3, 17, 0)).text(seenAt: now) == "today 17:00")
    }

    @Test func aLineThatStaysHasAClock() {
        let now = moment(day: 3, 14, 5)
        #expect(Timestamp(moment(day: 3, 14, 4, 57)).clock(seenAt: now) == "14:04:57")
        #expect(Timestamp(moment(day: 2, 14, 5)).clock(seenAt: now) == "yesterday 14:05:00")
        #expect(Timestamp(moment(day: 1, 14, 5)).clock(seenAt: now) == "2026-05-01 14:05:00")
    }

    @Test func filesHaveTheWholeMoment() {
        #expect(Timestamp(moment(day: 3, 17, 4, 5) + 123_456).text == "2026-05-03 17:04:05.123")
        #expect(Timestamp(moment(day: 3, 17, 4, 5) - 1).text == "2026-05-03 17:04:04.999")
    }
}
