import NotifyClient
import NotifyJSON

extension Quiet {
    /// Such as `paused until 14:05`, `/post until 14:05` or `/ until 07:00 (schedule)`.
    func words(at now: Int64 = Timestamp.now) -> String {
        let subject = cause == .paused ? "paused" : topic
        let end = until.map { " until " + Timestamp($0).end(seenAt: now) } ?? ""
        return subject + end + ([.paused, .muted].contains(cause) ? "" : " (\(cause))")
    }

    var json: JSON {
        .object([
            ("topic", .string(topic)), ("until", until.map { .integer($0) } ?? .null),
            ("cause", .string(cause.rawValue)),
        ])
    }

    func cells(at now: Int64) -> [Cell] {
        let end =
            until.map { "until " + Timestamp($0).end(seenAt: now) }
            ?? (cause == .desktop ? "until it is switched off there" : "until “notifyctl resume”")
        return [Cell(topic, .bold), Cell(end), Cell(cause.rawValue, .dim)]
    }
}

extension [Quiet] {
    private static var named: Int { 3 }

    /// What covers a topic or a topic below it.
    func concerning(_ topic: String) -> [Quiet] {
        filter { $0.covers(topic) || Quiet(topic: topic, cause: .muted).covers($0.topic) }
    }

    /// Whether there is a mute of exactly this topic.
    func isMuted(_ topic: String) -> Bool { contains { $0.cause == .muted && $0.topic.utf8.elementsEqual(topic.utf8) } }

    var pause: Quiet? { first { $0.cause == .paused } }

    /// The desktop's own “do not disturb”, and where it is switched off; `nil` while it is off.
    var desktop: String? {
        guard contains(where: { $0.cause == .desktop }) else { return nil }
        return
            "held back by “do not disturb” of the desktop: switch it off there, in its settings or with the command of "
            + "its notification server, such as “dunstctl set-paused false”"
    }

    /// The mutes and schedules as text, such as `/post until 14:05, /run until 15:00`; `nil` without any.
    func mutes() -> String? {
        let mutes = filter { $0.cause != .paused && $0.cause != .desktop }
        guard !mutes.isEmpty else { return nil }
        let rest = mutes.count - Self.named
        let words = mutes.prefix(Self.named).map { $0.words() }
        return (words + (rest > 0 ? ["\(rest) more"] : [])).joined(separator: ", ")
    }
}
