import Foundation
import Glibc
import Routing
import TOMLTables
import Testing

@testable import NotifyDaemon

/// Schedules by the local clock, over a year and its changes of the clock.
struct ScheduleTests {
    private static let hour: Int64 = 3600

    private func calendar(_ name: String) throws -> LocalCalendar {
        let zone = try #require(TimeZone(identifier: name))
        return LocalCalendar { Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval($0)))) }
    }

    private func schedule(
        _ from: String, _ to: String, _ days: [Schedule.Day] = Schedule.Day.allCases
    ) throws -> Schedule {
        let (from, to) = (try #require(Schedule.minute(from)), try #require(Schedule.minute(to)))
        return Schedule(from: from, to: to, days: days, topics: [.all])
    }

    /// Seconds since the epoch of a time in UTC, such as `2026-03-29T01:00:00Z`.
    private func moment(_ text: String) throws -> Int64 {
        Int64(try #require(ISO8601DateFormatter().date(from: text)).timeIntervalSince1970)
    }

    /// What the clock of a place shows, such as `Sun 22:00`.
    private func clock(_ moment: Int64, _ zone: String) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: zone)
        format.dateFormat = "EEE HH:mm"
        return format.string(from: Date(timeIntervalSince1970: TimeInterval(moment)))
    }

    /// The periods from one moment to another, found by going from each change to the next, as the daemon does.
    private func periods(
        _ schedules: [Schedule], _ zone: String, from start: String, to end: String
    ) throws -> [(began: Int64, ended: Int64)] {
        let calendar = try calendar(zone)
        var found: [(began: Int64, ended: Int64)] = []
        var now = try moment(start) * 1_000_000
        let end = try moment(end) * 1_000_000
        var began: Int64?
        while now < end {
            let snapshot = Schedule.snapshot(of: schedules, at: now, in: calendar)
            // A moment before, it was as it was.
            let before = Schedule.snapshot(of: schedules, at: now - 1, in: calendar)
            #expect(before.active.isEmpty == (began == nil))
            switch (began, snapshot.active.isEmpty) {
            case (nil, false):
                #expect(snapshot.active.first?.period.began == now)
                began = now
            case (let start?, true):
                found.append((start / 1_000_000, now / 1_000_000))
                began = nil
            default: break
            }
            let next = try #require(snapshot.next)
            #expect(next > now)
            now = next
        }
        return found
    }

    @Test(arguments: [
        ("Europe/Berlin", Int64(3600)), ("America/New_York", 3600), ("Australia/Lord_Howe", 1800), ("UTC", 0),
    ])
    func aYearHasANightForEveryDay(_ zone: String, _ shift: Int64) throws {
        let nights = try periods(
            [try schedule("22:00", "07:00")], zone, from: "2026-01-01T20:30:00Z", to: "2027-01-01T20:30:00Z")
        #expect((364...366).contains(nights.count))
        for night in nights {
            #expect(clock(night.began, zone).hasSuffix("22:00"))
            #expect(clock(night.ended, zone).hasSuffix("07:00"))
        }
        let lengths = nights.map { $0.ended - $0.began }
        let unusual = lengths.filter { $0 != 9 * Self.hour }
        #expect(unusual.sorted() == (shift == 0 ? [] : [9 * Self.hour - shift, 9 * Self.hour + shift]))
    }

    @Test(arguments: ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
    func theDayIsTheOneOnWhichItBegins(_ zone: String) throws {
        let nights = try periods(
            [try schedule("22:00", "07:00", [.fri, .sun])], zone, from: "2026-01-07T12:00:00Z",
            to: "2027-01-07T12:00:00Z")
        #expect((103...106).contains(nights.count))
        let ends = Set(nights.map { "\(clock($0.began, zone)) \(clock($0.ended, zone))" })
        #expect(ends == ["Fri 22:00 Sat 07:00", "Sun 22:00 Mon 07:00"])
    }

    /// In Berlin 02:00 to 03:00 is not there on 29 March 2026, and is there twice on 25 October.
    @Test(arguments: [
        ("02:30", "06:00", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T04:00:00Z"),
        ("22:00", "02:30", "2026-03-28T12:00:00Z", "2026-03-28T21:00:00Z", "2026-03-29T01:00:00Z"),
        ("02:30", "06:00", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T05:00:00Z"),
        ("22:00", "02:30", "2026-10-24T12:00:00Z", "2026-10-24T20:00:00Z", "2026-10-25T01:30:00Z"),
        ("02:15", "02:45", "2026-10-24T12:00:00Z", "2026-10-25T00:15:00Z", "2026-10-25T01:45:00Z"),
    ])
    func aTimeThatIsSkippedOrComesTwice(
        _ from: String, _ to: String, _ start: String, _ began: String, _ ended: String
    ) throws {
        let found = try periods([try schedule(from, to)], "Europe/Berlin", from: start, to: "2026-12-01T00:00:00Z")
        #expect(found.first?.began == (try moment(began)))
        #expect(found.first?.ended == (try moment(ended)))
    }

    @Test func theSameTimeTwiceIsAWholeDay() throws {
        let schedule = try schedule("00:00", "00:00", [.sat, .sun])
        let calendar = try calendar("Europe/Berlin")
        var now = try moment("2026-01-01T11:30:00Z")
        let end = try moment("2027-01-01T11:30:00Z")
        while now < end {
            let isOn = !Schedule.snapshot(of: [schedule], at: now * 1_000_000, in: calendar).active.isEmpty
            let day = clock(now, "Europe/Berlin").prefix(3)
            #expect(isOn == ["Sat", "Sun"].contains(day))
            now += 3 * Self.hour
        }
        let weekend = try #require(
            Schedule.snapshot(of: [schedule], at: try moment("2026-01-03T11:00:00Z") * 1_000_000, in: calendar).active
                .first)
        #expect(clock(weekend.ends / 1_000_000, "Europe/Berlin") == "Sun 00:00")
        #expect(schedule.description == "00:00-00:00 sat,sun /")
    }

    @Test func aPeriodThatTheClockSkipsIsNone() throws {
        let schedule = try schedule("02:15", "02:45")
        let found = try periods(
            [schedule], "Europe/Berlin", from: "2026-03-28T12:00:00Z", to: "2026-03-31T12:00:00Z")
        #expect(found.map { clock($0.began, "Europe/Berlin") } == ["Mon 02:15", "Tue 02:15"])
    }

    /// Lord Howe goes from 02:00 to 02:30 on 4 October 2026.
    @Test func halfAnHourMayBeSkipped() throws {
        let found = try periods(
            [try schedule("02:15", "03:00")], "Australia/Lord_Howe", from: "2026-10-03T12:00:00Z",
            to: "2026-10-04T12:00:00Z")
        #expect(found.count == 1)
        #expect(found.first.map { $0.ended - $0.began } == 1800)
    }

    /// Samoa had no 30 December 2011.
    @Test func aDayMayBeSkipped() throws {
        let found = try periods(
            [try schedule("22:00", "07:00")], "Pacific/Apia", from: "2011-12-28T22:00:00Z", to: "2012-01-01T22:00:00Z")
        #expect(found.allSatisfy { $0.ended - $0.began == 9 * Self.hour })
        #expect(found.map { clock($0.began, "Pacific/Apia") } == ["Wed 22:00", "Thu 22:00", "Sat 22:00", "Sun 22:00"])
    }

    @Test func twoSchedulesOfATopicAreTwoPeriods() throws {
        var inner = try schedule("23:00", "01:00")
        inner = Schedule(from: inner.from, to: inner.to, days: inner.days, topics: [try TopicPrefix("/b"), .all])
        let now = try moment("2026-06-01T23:30:00Z") * 1_000_000
        let snapshot = Schedule.snapshot(
            of: [try schedule("22:00", "07:00"), inner], at: now, in: try calendar("UTC"))
        #expect(snapshot.active.map(\.period.topic.description) == ["/", "/", "/b"])
        #expect(snapshot.active.map(\.period.began) == [-5400, -1800, -1800].map { now + $0 * 1_000_000 })
        #expect(snapshot.next == now + 5400 * 1_000_000)
        #expect(Schedule.snapshot(of: [], at: now, in: try calendar("UTC")) == Schedule.Snapshot())
    }

    @Test func theTimeZoneOfTheProcessIsThatOfTheSystem() {
        let now = Int64(Date().timeIntervalSince1970)
        #expect(LocalCalendar.system.offset(now) == Int64(TimeZone.current.secondsFromGMT()))
    }

    // MARK: The configuration

    private func read(_ text: String) throws(ConfigurationError) -> [Schedule] {
        var reader = ConfigurationReader()
        reader.add(file: "test.toml", text: text)
        return try reader.finish().schedules
    }

    @Test func aScheduleHoldsForEveryDayAndTopicUnlessItSaysOtherwise() throws {
        let schedules = try read(
            """
            [[quiet]]
            from = "22:00"
            to = "07:00"
            [[quiet]]
            from = "00:00"
            to = "23:59"
            days = ["sun", "sat", "sun"]
            topics = ["/post", "/chat/1", "/post"]
            digest = true
            """)
        #expect(
            schedules.map(\.description) == ["22:00-07:00 /", "00:00-23:59 sat,sun /post /chat/1, with a digest"])
        #expect(try read("[[quiet]]\nfrom = \"22:00\"\nto = \"22:00\"").map(\.description) == ["22:00-22:00 /"])
    }

    @Test(arguments: [
        ("from = \"22:00\"", 1, 1, "a schedule needs 'to'"),
        ("from = \"24:00\"\nto = \"07:00\"", 2, 1, "'from' must be a local time"),
        ("from = \"22:00\"\nto = \"7:00\"", 3, 1, "it is \"7:00\""),
        ("from = \"22:00\"\nto = \"07:60\"", 3, 1, "it is \"07:60\""),
        ("from = 22\nto = \"07:00\"", 2, 1, "'from' must be a string"),
        ("from = \"22:00\"\nto = \"07:00\"\ndays = [\"mon\", \"Tue\"]", 4, 16, "\"Tue\" is not a day; the days"),
        ("from = \"22:00\"\nto = \"07:00\"\ndays = []", 4, 1, "'days' must have at least one"),
        ("from = \"22:00\"\nto = \"07:00\"\ntopics = []", 4, 1, "'topics' must have at least one"),
        ("from = \"22:00\"\nto = \"07:00\"\ntopics = [\"post\"]", 4, 11, "does not start with '/'"),
        ("from = \"22:00\"\nto = \"07:00\"\nday = [\"mon\"]", 4, 1, "the keys are days, digest, from, to, topics"),
        ("from = \"22:00\"\nto = \"07:00\"\ndigest = \"yes\"", 4, 1, "'digest' must be true or false; it is a string"),
    ])
    func eachMistakeHasItsPlace(_ text: String, _ line: Int, _ column: Int, _ words: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try read("[[quiet]]\n" + text) }
        #expect(error?.count == 1)
        #expect(error?.mistakes.first?.line == line)
        #expect(error?.mistakes.first?.column == column)
        #expect(error?.mistakes.first?.reason.contains(words) == true, "\(error.map { "\($0)" } ?? "")")
    }
}

/// Which pause or mute it was, as the journal keeps it and `Explain` says it.
struct MuteCauseTests {
    @Test(arguments: [
        "paused", "paused until=5", "muted", "muted until=5 /post/27", "muted until=5 /a b/until=6",
        "schedule until=5 /", "schedule until=5 digest=4 /a b",
    ])
    func itIsReadAsItWasWritten(_ text: String) throws {
        #expect(try #require(MuteCause(text)).description == text)
    }

    @Test func itIsSaidInASentence() throws {
        let noon: Int64 = 1_790_000_000_000_000
        let clock = LocalTime(noon).text(on: LocalTime(noon))
        #expect(clock.count == 5)
        func sentence(_ text: String) -> String? { MuteCause(text)?.sentence(decided: noon) }
        #expect(sentence("paused") == "Banners were paused.")
        #expect(sentence("paused until=\(noon)") == "Banners were paused until \(clock).")
        #expect(sentence("muted") == "Its topic was muted.")
        #expect(sentence("muted until=\(noon) /post") == "Its topic was muted: /post, until \(clock).")
        #expect(sentence("schedule until=\(noon) /") == "A schedule held back all banners until \(clock).")
        #expect(sentence("schedule until=\(noon) /a") == "A schedule held back banners at or below /a until \(clock).")
        let later = noon + 48 * 3_600_000_000
        #expect(sentence("muted until=\(later) /")?.contains(", until 2026-") == true)
        #expect(MuteCause("publisher") == nil)
    }
}
