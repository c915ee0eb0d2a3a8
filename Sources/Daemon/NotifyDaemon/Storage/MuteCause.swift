import Glibc
import Routing

/// What held a banner back, as stored in the journal: `paused`, `paused until=TIME`, `muted until=TIME /topic`,
/// `schedule until=TIME /topic`, `schedule until=TIME digest=ID /topic` or `desktop`, with the time in microseconds
/// since the epoch. Older journals have only `paused` or `muted`.
struct MuteCause: LosslessStringConvertible {
    let cause: Quiet.Cause
    /// The topic that was muted or has the schedule; `nil` for a pause, for the desktop and from an older journal.
    let topic: String?
    /// Microseconds since the epoch.
    let until: Int64?
    /// The name of the digest that counts the event.
    let digest: EventID?

    init(_ quiet: Quiet, digest: EventID? = nil, _ clock: WallClock) {
        self.digest = digest
        cause = quiet.cause
        topic = quiet.cause == .paused || quiet.cause == .desktop ? nil : quiet.topic.description
        until = quiet.ends.map { clock.moment($0) }
    }

    init?(_ description: String) {
        var words = description.split(separator: " ", omittingEmptySubsequences: false)[...]
        guard let cause = words.popFirst().flatMap({ Quiet.Cause(rawValue: String($0)) }) else { return nil }
        self.cause = cause
        func number<Number: FixedWidthInteger>(_ name: String) -> Number? {
            let prefix = name + "="
            guard let word = words.first, word.hasPrefix(prefix), let number = Number(word.dropFirst(prefix.count))
            else { return nil }
            words.removeFirst()
            return number
        }
        until = number("until")
        digest = number("digest").map { EventID($0) }
        // A topic may have spaces.
        topic = words.isEmpty ? nil : words.joined(separator: " ")
    }

    var description: String {
        let words = [cause.rawValue, until.map { "until=\($0)" }, digest.map { "digest=\($0)" }, topic]
        return words.compactMap(\.self).joined(separator: " ")
    }

    /// A sentence about an event that was decided at this time.
    func sentence(decided: Int64) -> String {
        let end = until.map { "until \(LocalTime($0).text(on: LocalTime(decided)))" }
        switch cause {
        case .paused: return "Banners were paused\(end.map { " \($0)" } ?? "")."
        case .muted:
            guard let topic else { return "Its topic was muted." }
            return "Its topic was muted: \(topic)\(end.map { ", \($0)" } ?? "")."
        case .desktop: return "The desktop's own “do not disturb” was on."
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
