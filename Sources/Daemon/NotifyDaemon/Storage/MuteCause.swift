import Glibc
import Routing

/// What held a banner back, as stored in the journal: `paused`, `paused until=TIME`, `muted until=TIME /topic` or `schedule
/// until=TIME /topic`, with the time in microseconds since the epoch. Older journals have only `paused` or `muted`.
struct MuteCause: LosslessStringConvertible {
    let cause: Quiet.Cause
    /// The topic that was muted or has the schedule; `nil` for a pause and from an older journal.
    let topic: String?
    /// Microseconds since the epoch.
    let until: Int64?

    init(_ quiet: Quiet, _ clock: WallClock) {
        cause = quiet.cause
        topic = quiet.cause == .paused ? nil : quiet.topic.description
        until = quiet.ends.map { clock.moment($0) }
    }

    init?(_ description: String) {
        var words = description.split(separator: " ", maxSplits: 2)[...]
        guard let cause = words.popFirst().flatMap({ Quiet.Cause(rawValue: String($0)) }) else { return nil }
        self.cause = cause
        let prefix = "until="
        if let word = words.first, word.hasPrefix(prefix), let until = Int64(word.dropFirst(prefix.count)) {
            self.until = until
            words.removeFirst()
        } else {
            until = nil
        }
        topic = words.isEmpty ? nil : words.joined(separator: " ")
    }

    var description: String {
        ([cause.rawValue] + [until.map { "until=\($0)" }, topic].compactMap(\.self)).joined(separator: " ")
    }

    /// A sentence about an event that was decided at this time.
    func sentence(decided: Int64) -> String {
        let end = until.map { "until \(LocalTime($0).text(on: LocalTime(decided)))" }
        switch cause {
        case .paused: return "Banners were paused\(end.map { " \($0)" } ?? "")."
        case .muted:
            guard let topic else { return "Its topic was muted." }
            return "Its topic was muted: \(topic)\(end.map { ", \($0)" } ?? "")."
        case .schedule:
            let scope = topic == nil || topic == "/" ? "all banners" : "banners at or below \(topic!)"
            return "A schedule held back \(scope)\(end.map { " \($0)" } ?? "")."
        }
    }
}

/// A time in the time zone of the daemon; localtime_r(3).
struct LocalTime {
    private let parts: tm

    /// - Parameter moment: microseconds since the epoch.
    init(_ moment: Int64) {
        var seconds = time_t((Double(moment) / 1_000_000).rounded(.down))
        var parts = tm()
        localtime_r(&seconds, &parts)
        self.parts = parts
    }

    /// `14:05`, preceded by the date if that is another day.
    func text(on other: LocalTime) -> String {
        let time = "\(Self.digits(parts.tm_hour)):\(Self.digits(parts.tm_min))"
        return day == other.day ? time : "\(day) \(time)"
    }

    private var day: String {
        "\(Int(parts.tm_year) + 1900)-\(Self.digits(parts.tm_mon + 1))-\(Self.digits(parts.tm_mday))"
    }

    private static func digits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
