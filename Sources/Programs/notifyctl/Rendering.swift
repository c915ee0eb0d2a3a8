import NotifyClient

extension Event {
    /// For a line on a terminal.
    ///
    /// - Parameters:
    ///   - time: the text for the time of publishing.
    ///   - outcome: its outcome or the verdict of a claim; `nil`: without this column.
    func cells(time: (Timestamp) -> String, outcome: Cell?) -> [Cell] {
        [Cell(published.map { time(Timestamp($0)) } ?? "", .dim), .id("\(id)")] + (outcome.map { [$0] } ?? [])
            + [Cell(topic, .bold), text]
    }

    /// Title, body and fields.
    private var text: Cell {
        var parts: [Cell] = []
        if !title.isEmpty { parts.append(Cell(title)) }
        if !body.isEmpty { parts.append(Cell("– " + body)) }
        for (key, value) in fields {
            parts.append(Cell(key + "=" + Text(value).text, .dim))
        }
        if isReplayed { parts.append(Cell("(again)")) }
        guard let first = parts.first else { return Cell("") }
        return parts.dropFirst().reduce(first) { $0 + Cell("  ") + $1 }
    }

    /// One line for programs and files.
    func line(verdict: Verdict?) -> String {
        var parts = ["\(id)", Terminal.bold(Terminal.plain(topic))]
        if !title.isEmpty { parts.append(Terminal.plain(title)) }
        if !body.isEmpty { parts.append("– " + Terminal.plain(body)) }
        for (key, value) in fields {
            parts.append(Terminal.dim(Terminal.plain(key + "=" + Text(value).text)))
        }
        if isReplayed { parts.append("(again)") }
        if let verdict { parts.append("→ \(Terminal.plain(verdict.rawValue))") }
        return parts.joined(separator: "  ")
    }

    func json(verdict: Verdict?) -> JSON {
        var members: [(String, JSON)] = [
            ("id", .integer(id.rawValue)), ("topic", .string(topic)), ("title", .string(title)),
            ("body", .string(body)),
            ("fields", JSON(fields: fields)),
        ]
        if let published { members.append(("published", .integer(published))) }
        if let window { members.append(("window", .milliseconds(window))) }
        if let source { members.append(("source", .string(source))) }
        if let eventID { members.append(("event-id", .string(eventID))) }
        if let sender { members.append(("sender", .string(sender))) }
        if isReplayed { members.append(("replayed", .bool(true))) }
        if isRetained { members.append(("retained", .bool(true))) }
        if let verdict { members.append(("verdict", .string(verdict.rawValue))) }
        return .object(members)
    }
}

extension Outcome.Kind {
    /// Green: claimed or read. Yellow: undecided or shown. Red: never shown.
    var style: Terminal.Style {
        switch self {
        case .claimed, .dismissed, .retracted: .green
        case .shown: .yellow
        case .expired: .red
        default: .dim
        }
    }

    var cell: Cell { Cell(rawValue, style) }
}

extension Outcome.Kind? {
    /// The word in its colour; an event without an outcome is undecided.
    var cell: Cell { self?.cell ?? Cell("undecided", .bold) }
}

extension Verdict {
    var cell: Cell { Cell(rawValue, self == .recorded ? .dim : .green) }
}

extension Outcome {
    /// The outcome, then its details.
    var line: String { ([Terminal.plain(kind.rawValue)] + details).joined(separator: " ") }

    /// The details of the outcome.
    var details: [String] {
        var parts: [String] = []
        if let by { parts.append("by \(Claimant.text(by, program))") }
        if let action { parts.append("by the button “\(Terminal.plain(action))”") }
        if let latency { parts.append(latency == .zero ? "as it came in" : "after \(latency.displayText)") }
        // Details of the banner.
        guard kind == .shown else { return parts }
        if let count, count > 1 { parts.append("together with \(count - 1) more") }
        if let lateness {
            parts.append("\(lateness.displayText) after its window" + (delay?.words.map { ": " + $0 } ?? ""))
        }
        return parts
    }

    var members: [(String, JSON)] {
        var members: [(String, JSON)] = [("outcome", .string(kind.rawValue))]
        if let by { members.append(("by", .string(by))) }
        if let program { members.append(("program", .string(program))) }
        if let latency { members.append(("latency", .microseconds(latency))) }
        if let form { members.append(("form", .string(form))) }
        if let banner { members.append(("banner", .integer(banner))) }
        if let count { members.append(("count", .integer(count))) }
        if let lateness { members.append(("lateness", .microseconds(lateness))) }
        if let delay { members.append(("delay", .string(delay.rawValue))) }
        if let action { members.append(("action", .string(action))) }
        return members
    }
}

extension BannerDelay {
    /// The reason, as the end of a sentence; `nil` if it is unknown.
    var words: String? {
        switch self {
        case .absent: "no notification server"
        case .resting: "the notification server was left alone after failures"
        case .failed: "the notification server had failed"
        case .limited: "too many banners"
        case .busy: "the notification server was busy"
        default: nil
        }
    }
}

enum Claimant {
    /// A claimant for people: its program first, if that is known.
    static func text(_ name: String, _ program: String?) -> String {
        Terminal.plain(program.map { "\($0) (\(name))" } ?? name)
    }
}

extension Action {
    /// In the columns of ``Event/cells(time:outcome:)``.
    func cells(at moment: Int64, hasOutcome: Bool) -> [Cell] {
        [Cell(Timestamp(moment).clock(seenAt: moment), .dim), .id("\(id)")] + (hasOutcome ? [Cell("")] : [])
            + [Cell(topic, .bold), Cell("⏎ " + action)]
    }

    /// One line for programs.
    var line: String { "\(id)  \(Terminal.bold(Terminal.plain(topic)))  ⏎ \(Terminal.plain(action))" }

    var json: JSON {
        .object([("id", .integer(id.rawValue)), ("topic", .string(topic)), ("action", .string(action))])
    }
}

extension ListedScreen {
    /// - Parameter programs: the programs of owners, by unique name.
    func cells(_ programs: [String: String]) -> [Cell] {
        [
            Cell(topic, .bold), Cell(mode.rawValue), Cell(state.rawValue, state == .hidden ? .dim : .plain),
            Cell(programs[owner].map { "\($0) (\(owner))" } ?? owner, .dim),
        ]
    }

    func json(_ programs: [String: String]) -> JSON {
        .object(
            [
                ("screen", .integer(id)), ("topic", .string(topic)), ("mode", .string(mode.rawValue)),
                ("state", .string(state.rawValue)), ("owner", .string(owner)),
            ] + (programs[owner].map { [("program", .string($0))] } ?? []))
    }
}
