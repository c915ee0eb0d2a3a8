import Glibc

/// A moment as the clock on the wall shows it, in the time zone of the daemon: localtime_r(3).
struct LocalTime {
    private let parts: tm

    /// - Parameter moment: microseconds since the epoch.
    init(_ moment: Int64) {
        var seconds = time_t((Double(moment) / 1_000_000).rounded(.down))
        var parts = tm()
        localtime_r(&seconds, &parts)
        self.parts = parts
    }

    /// `14:05`, with the date before it where that is another day.
    func text(on other: LocalTime) -> String {
        let time = "\(Self.digits(parts.tm_hour)):\(Self.digits(parts.tm_min))"
        return day == other.day ? time : "\(day) \(time)"
    }

    private var day: String {
        "\(Int(parts.tm_year) + 1900)-\(Self.digits(parts.tm_mon + 1))-\(Self.digits(parts.tm_mday))"
    }

    private static func digits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
