import Glibc

/// A moment, microseconds since 1970-01-01 00:00 UTC, as people of this place write it.
struct Moment {
    private let microseconds: Int64

    init(_ microseconds: Int64) { self.microseconds = microseconds }

    /// To the second, which is enough for "an hour ago".
    static var now: Int64 { Int64(time(nil)) * 1_000_000 }

    /// Such as `2026-05-03 17:04:05.123`.
    var text: String {
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        var seconds = time_t(remainder < 0 ? quotient - 1 : quotient)
        let rest = remainder < 0 ? remainder + 1_000_000 : remainder
        var parts = tm()
        localtime_r(&seconds, &parts)
        let date = [padded(parts.tm_year + 1900, 4), padded(parts.tm_mon + 1, 2), padded(parts.tm_mday, 2)]
        let time = [padded(parts.tm_hour, 2), padded(parts.tm_min, 2), padded(parts.tm_sec, 2)]
        return date.joined(separator: "-") + " " + time.joined(separator: ":") + "." + padded(rest / 1000, 3)
    }

    private func padded(_ number: some BinaryInteger, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
