import NotifyClient

extension Event {
    /// One line for people.
    func line(verdict: Verdict?) -> String {
        var parts = ["\(id)", Terminal.bold(Terminal.plain(topic))]
        if !title.isEmpty { parts.append(Terminal.plain(title)) }
        if !body.isEmpty { parts.append("– " + Terminal.plain(body)) }
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
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

extension Outcome {
    /// The word first, then what is known.
    var line: String {
        var parts = [Terminal.plain(kind.rawValue)]
        if let by { parts.append("by \(Terminal.plain(by))") }
        if let latency { parts.append("after \(latency.figure)") }
        if let count, count > 1 { parts.append("together with \(count - 1) more") }
        if let lateness { parts.append("\(lateness.figure) after its window") }
        return parts.joined(separator: " ")
    }

    var members: [(String, JSON)] {
        var members: [(String, JSON)] = [("outcome", .string(kind.rawValue))]
        if let by { members.append(("by", .string(by))) }
        if let latency { members.append(("latency", .microseconds(latency))) }
        if let banner { members.append(("banner", .integer(banner))) }
        if let count { members.append(("count", .integer(count))) }
        if let lateness { members.append(("lateness", .microseconds(lateness))) }
        return members
    }
}

extension Action {
    var line: String { "\(id)  \(Terminal.bold(Terminal.plain(topic)))  ⏎ \(Terminal.plain(action))" }

    var json: JSON {
        .object([("id", .integer(id.rawValue)), ("topic", .string(topic)), ("action", .string(action))])
    }
}

extension ListedScreen {
    var json: JSON {
        .object([
            ("screen", .integer(id)), ("topic", .string(topic)), ("mode", .string(mode.rawValue)),
            ("state", .string(state.rawValue)), ("owner", .string(owner)),
        ])
    }
}
