import Glibc
import Routing

/// `[[quiet]]` in a configuration: when, and for which topics, no banners appear.
struct Schedule: Equatable, Sendable {
    /// A day of the week.
    enum Day: String, CaseIterable, Sendable {
        case mon, tue, wed, thu, fri, sat, sun
    }

    /// Schedules in a configuration.
    static let maximum = 64
    /// Topics of a schedule.
    static let maximumTopics = 64

    /// When it begins and ends, in minutes of the day. One that ends no later than it begins ends on the next day; so
    /// the same time twice is a whole day.
    let from: Int
    let to: Int
    /// The days on which it begins.
    let days: [Day]
    /// Banners at or below these topics are held back.
    let topics: [TopicPrefix]
    /// Whether a digest follows its end.
    var hasDigest = false
}

extension Schedule {
    /// What is on at a moment.
    struct Snapshot: Equatable {
        /// A period that is on.
        struct Active: Equatable {
            let period: ActiveSchedule.Period
            /// Microseconds since the epoch.
            let ends: Int64
            let hasDigest: Bool
        }

        /// In the byte order of their topics, then in the order of their beginnings.
        var active: [Active] = []
        /// When the next period begins or ends, in microseconds since the epoch; `nil` without a schedule.
        var next: Int64?
    }

    private static let second: Int64 = 1_000_000

    /// - Parameter now: microseconds since the epoch.
    static func snapshot(of schedules: [Schedule], at now: Int64, in calendar: LocalCalendar) -> Snapshot {
        var ends: [ActiveSchedule.Period: Int64] = [:]
        var digests: Set<ActiveSchedule.Period> = []
        var snapshot = Snapshot()
        guard !schedules.isEmpty else { return snapshot }
        let today = calendar.day(at: now / second)
        for schedule in schedules {
            // A period may have begun the day before yesterday: a change of the time zone may skip a day.
            for day in (today - 2)...(today + 8) where schedule.days.contains(Self.day(of: day)) {
                let (began, end) = schedule.period(beginningOn: day, in: calendar)
                // Clocks may skip all of it.
                guard began < end else { continue }
                for change in [began, end] where change > now { snapshot.next = min(snapshot.next ?? change, change) }
                guard began <= now, now < end else { continue }
                for topic in schedule.topics {
                    let period = ActiveSchedule.Period(topic, began: began)
                    ends[period] = max(ends[period] ?? end, end)
                    if schedule.hasDigest { digests.insert(period) }
                }
            }
        }
        snapshot.active = ends.map { period, end in
            Snapshot.Active(period: period, ends: end, hasDigest: digests.contains(period))
        }.sorted { $0.period.precedes($1.period) }
        return snapshot
    }

    /// 1970-01-01 was a Thursday.
    private static func day(of day: Int64) -> Day { Day.allCases[Int(((day + 3) % 7 + 7) % 7)] }

    /// An hour that comes twice is quiet from its first beginning to its last end.
    private func period(beginningOn day: Int64, in calendar: LocalCalendar) -> (began: Int64, ends: Int64) {
        let began = calendar.moment(day: day, minute: from, .first)
        let ends = calendar.moment(day: to > from ? day : day + 1, minute: to, .last)
        return (began * Self.second, ends * Self.second)
    }
}

extension Schedule: CustomStringConvertible {
    var description: String {
        let days = days.count == Day.allCases.count ? "" : " " + self.days.map(\.rawValue).joined(separator: ",")
        return "\(Self.text(from))-\(Self.text(to))\(days) " + topics.map(\.description).joined(separator: " ")
            + (hasDigest ? ", with a digest" : "")
    }

    /// A time of day as the configuration has it, such as `07:30`.
    static func text(_ minute: Int) -> String {
        func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(digits(minute / 60)):\(digits(minute % 60))"
    }

    /// - Returns: the minute of the day; `nil` if the text is not a time such as `07:30`.
    static func minute(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        let digits = [0, 1, 3, 4].map { Int(bytes[$0]) - Int(UInt8(ascii: "0")) }
        guard digits.allSatisfy((0...9).contains) else { return nil }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        return hour < 24 && minute < 60 ? hour * 60 + minute : nil
    }
}

/// Converts between days and minutes of the local time and moments, by nothing but the offsets of a time zone.
struct LocalCalendar {
    static let dayLength: Int64 = 86_400
    /// Further from a moment than local time can be from UTC.
    private static let margin: Int64 = 26 * 3600

    /// How far local time is ahead of UTC at a moment, both in seconds.
    let offset: (Int64) -> Int64

    /// The time zone of this process: localtime_r(3). The zone is read again if /etc/localtime has changed.
    static var system: LocalCalendar {
        tzset()
        return LocalCalendar { moment in
            var seconds = time_t(moment)
            var parts = tm()
            localtime_r(&seconds, &parts)
            return Int64(parts.tm_gmtoff)
        }
    }

    /// The local day of a moment, counted from 1970-01-01.
    func day(at moment: Int64) -> Int64 {
        let local = moment + offset(moment)
        return (local - ((local % Self.dayLength) + Self.dayLength) % Self.dayLength) / Self.dayLength
    }

    /// Of a time that the clocks show twice, which one is meant.
    enum Choice {
        case first, last
    }

    /// The moment at which clocks show a time. If they skip it, the moment at which they do.
    func moment(day: Int64, minute: Int, _ choice: Choice) -> Int64 {
        let local = day * Self.dayLength + Int64(minute) * 60
        let before = offset(local - Self.margin)
        let after = offset(local + Self.margin)
        let moments = [local - before, local - after].filter { $0 + offset($0) == local }
        if let moment = choice == .first ? moments.min() : moments.max() { return moment }
        return change(after: local - max(before, after), upTo: local - min(before, after))
    }

    /// The moment at which the offset changes.
    private func change(after start: Int64, upTo end: Int64) -> Int64 {
        let old = offset(start)
        var (low, high) = (start, end)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if offset(middle) == old { low = middle } else { high = middle }
        }
        return high
    }
}
