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
