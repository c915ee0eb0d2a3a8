import Routing

/// Which pause or mute held a banner back, as the journal keeps it: `paused`, `paused until=TIME`, `muted until=TIME /topic`, where
/// the time is in microseconds since the epoch. Older journals say `paused` or `muted`, and no more.
struct MuteCause: LosslessStringConvertible {
    let cause: Quiet.Cause
    /// The topic that was muted; `nil` where an older journal does not say so.
    let topic: String?
    /// Microseconds since the epoch.
    let until: Int64?

    init(_ quiet: Quiet, _ clock: WallClock) {
        cause = quiet.cause
        topic = quiet.cause == .muted ? quiet.topic.description : nil
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

    /// As a sentence about an event that was decided at this moment.
    func sentence(decided: Int64) -> String {
        let end = until.map { "until \(LocalTime($0).text(on: LocalTime(decided)))" }
        switch cause {
        case .paused: return "Banners were paused\(end.map { " \($0)" } ?? "")."
        case .muted:
            guard let topic else { return "Its topic was muted." }
            return "Its topic was muted: \(topic)\(end.map { ", \($0)" } ?? "")."
        }
    }
}
