import Glibc
import NotifyClient

/// A moment, microseconds since 1970-01-01 00:00 UTC, as people of this place write it.
struct Moment {
    private let microseconds: Int64

    init(_ microseconds: Int64) { self.microseconds = microseconds }

    static var now: Int64 { SystemClock.wall }

    /// Such as `2026-05-03 17:04:05.123`.
    var text: String { day + " " + time + "." + padded(fraction / 1000, 3) }

    /// How long ago it was, as people say it: `now`, `3 s ago`, `5 min ago`, `today 14:05`, `yesterday 14:05`,
    /// `2026-05-03 17:04`.
    func text(seenAt now: Int64) -> String {
        let age = Duration.microseconds(now - microseconds)
        // A publisher's clock may be a little ahead; what is further away is a date.
        return age > .seconds(-2) && age < .seconds(3600) ? Moment.ago(age) : dayInWords(at: now) + " " + time.prefix(5)
    }

    /// `now`, `3 s ago`, `5 min ago`, `2 h ago`.
    static func ago(_ age: Duration) -> String {
        switch age.components.seconds {
        case ...0: "now"
        case let seconds where seconds < 60: "\(seconds) s ago"
        case let seconds where seconds < 3600: "\(seconds / 60) min ago"
        case let seconds: "\(seconds / 3600) h ago"
        }
    }

    /// For a line that stays where it is while time goes on: `14:05:03`, `yesterday 14:05:03`, `2026-05-03 17:04:05`.
    func clock(seenAt now: Int64) -> String {
        let day = dayInWords(at: now)
        return day == "today" ? time : day + " " + time
    }

    /// For the end of something: `14:05`, or with the day where that is not this one: `2026-05-04 14:05`.
    func end(seenAt now: Int64) -> String {
        let clock = String(time.prefix(5))
        return day == Moment(now).day ? clock : day + " " + clock
    }

    private func dayInWords(at now: Int64) -> String {
        if day == Moment(now).day { return "today" }
        // The day before this one has 23 to 25 hours: its noon is 12 hours before midnight.
        let clock = Moment(now).parts
        let sinceMidnight = Int64(clock.tm_hour * 3600 + clock.tm_min * 60 + clock.tm_sec)
        return day == Moment(now - (sinceMidnight + 43200) * 1_000_000).day ? "yesterday" : day
    }

    private var seconds: Int64 { (microseconds - fraction) / 1_000_000 }
    private var fraction: Int64 { (microseconds % 1_000_000 + 1_000_000) % 1_000_000 }

    private var parts: tm {
        var seconds = time_t(seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts
    }

    private var day: String {
        [padded(parts.tm_year + 1900, 4), padded(parts.tm_mon + 1, 2), padded(parts.tm_mday, 2)].joined(separator: "-")
    }

    private var time: String {
        [padded(parts.tm_hour, 2), padded(parts.tm_min, 2), padded(parts.tm_sec, 2)].joined(separator: ":")
    }

    private func padded(_ number: some BinaryInteger, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
