import Glibc
import NotifyClient
package import NotifyText

/// A point in time, in microseconds since 1970-01-01 00:00 UTC, formatted in the local time zone.
struct Timestamp {
    private let microseconds: Int64

    init(_ microseconds: Int64) { self.microseconds = microseconds }

    static var now: Int64 { SystemClock.wall }

    /// Such as `2026-05-03 17:04:05.123`.
    var text: String { day + " " + time + "." + String(fraction / 1000).padded(to: 3, with: "0") }

    /// The age: `now`, `3 s ago`, `5 min ago`, `today 14:05`, `yesterday 14:05`,
    /// `2026-05-03 17:04`.
    func text(seenAt now: Int64) -> String {
        let age = Duration.microseconds(now - microseconds)
        // A publisher's clock may be a little ahead; later times are shown as a date.
        return age > .seconds(-2) && age < .seconds(3600)
            ? Timestamp.ago(age) : dayInWords(at: now) + " " + time.prefix(5)
    }

    /// The age for a narrow column: `now`, `3 s`, `5 min`, `14:05`, `yesterday 14:05`, `2026-05-03 17:04`.
    func age(seenAt now: Int64) -> String {
        let text = text(seenAt: now)
        if text.hasSuffix(" ago") { return String(text.dropLast(4)) }
        return text.hasPrefix("today ") ? String(text.dropFirst(6)) : text
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

    /// A time that stays valid while a line is on screen: `14:05:03`, `yesterday 14:05:03`, `2026-05-03 17:04:05`.
    func clock(seenAt now: Int64) -> String {
        let day = dayInWords(at: now)
        return day == "today" ? time : day + " " + time
    }

    /// An end time: `14:05`, or with the day if it is not today: `2026-05-04 14:05`.
    func end(seenAt now: Int64) -> String {
        let clock = String(time.prefix(5))
        return day == Timestamp(now).day ? clock : day + " " + clock
    }

    private func dayInWords(at now: Int64) -> String {
        if day == Timestamp(now).day { return "today" }
        // A day has 23 to 25 hours, so yesterday is found from its noon, 12 hours before midnight.
        let clock = Timestamp(now).parts
        let sinceMidnight = Int64(clock.tm_hour * 3600 + clock.tm_min * 60 + clock.tm_sec)
        return day == Timestamp(now - (sinceMidnight + 43200) * 1_000_000).day ? "yesterday" : day
    }

    private var seconds: Int64 { (microseconds - fraction) / 1_000_000 }
    private var fraction: Int64 { (microseconds % 1_000_000 + 1_000_000) % 1_000_000 }

    private var parts: tm {
        var seconds = time_t(seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts
    }

    private var day: String { formatted("%F") }
    private var time: String { formatted("%T") }

    /// - Parameter format: as for strftime(3).
    private func formatted(_ format: String) -> String {
        var parts = parts
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, format, &parts)
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension Duration: JSONConvertible {
    /// In microseconds.
    package var json: JSON { .integer(microseconds) }
}

extension JSON {
    static func milliseconds(_ duration: Duration) -> JSON { .integer(duration.microseconds / 1000) }
}

extension Double {
    func fixed(_ digits: Int) -> String {
        let factor = [1, 10, 100][digits]
        let scaled = Int((self * Double(factor)).rounded())
        return "\(scaled / factor)." + String(scaled % factor).padded(to: digits, with: "0")
    }
}

extension String {
    /// The text with characters before it, up to a number of characters.
    func padded(to width: Int, with filler: Character = " ") -> String {
        String(repeating: filler, count: max(0, width - count)) + self
    }
}

extension BinaryInteger {
    /// The number with a noun: “1 rule”, “2 rules”.
    func counting(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
