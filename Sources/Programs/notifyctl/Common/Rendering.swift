import NotifyClient
import NotifyText

extension Event {
    /// For a line on a terminal.
    ///
    /// - Parameters:
    ///   - time: the text for the time of publishing.
    ///   - outcome: its outcome or the verdict of a claim; `nil`: without this column.
    ///   - text: what its banner says, if it has no title.
    func cells(time: (Timestamp) -> String, outcome: Cell?, text: BannerText? = nil) -> [Cell] {
        [Cell(published.map { time(Timestamp($0)) } ?? "", .dim), .id("\(id)")] + (outcome.map { [$0] } ?? [])
            + [Cell(topic, .bold), parts(text).joined()]
    }

    /// Title, body and fields. The banner supplies what the event lacks.
    private func parts(_ text: BannerText?) -> [Cell] {
        let title = title.isEmpty ? text?.title ?? "" : title
        let body = body.isEmpty ? text?.body ?? "" : body
        return (title.isEmpty ? [] : [Cell(title)]) + (body.isEmpty ? [] : [Cell("– " + body)])
            + fields.map { Cell($0.key + "=" + $0.value.text, .dim) } + (isReplayed ? [Cell("(again)")] : [])
    }

    /// - Parameters:
    ///   - answer: what became of a claim.
    ///   - text: what its banner says, if it has no title.
    func line(answer: String? = nil, text: BannerText? = nil) -> String {
        let answer = answer.map { [Cell("→ " + $0)] } ?? []
        return ([Cell("\(id)"), Cell(topic, .bold)] + parts(text) + answer).joined().written().text
    }

    /// What was published.
    var content: [(String, JSON)] {
        JSON.members(["id": id, "topic": topic, "title": title, "body": body, "fields": fields])
    }

    /// - Parameters:
    ///   - isHeld: whether the verdict is that of a provisional claim.
    ///   - text: what its banner says, if that was asked.
    func members(verdict: Verdict? = nil, isHeld: Bool = false, text: BannerText? = nil) -> [(String, JSON)] {
        content
            + JSON.present([
                "published": published, "window": window.map(JSON.milliseconds), "source": source, "event-id": eventID,
                "via": via, "expires": expires, "urgency": urgency?.rawValue, "silent": silence,
                "claimed": JSON.ifTrue(isClaimed), "sender": sender, "replayed": JSON.ifTrue(isReplayed),
                "retained": JSON.ifTrue(isRetained), "verdict": verdict?.rawValue, "held": JSON.ifTrue(isHeld),
            ]) + (text?.members ?? [])
    }
}

extension BannerText {
    var members: [(String, JSON)] { [("summary", .string(title)), ("text", .string(body))] }
}

extension OutputOptions {
    /// Writes an event that has arrived.
    ///
    /// - Parameters:
    ///   - answer: the reply to a claim of it.
    ///   - hasAnswers: whether events are claimed, so that there is a column for it.
    ///   - text: what its banner says, if that was asked.
    func write(
        _ event: Event, _ answer: ClaimAnswer? = nil, hasAnswers: Bool = false, _ text: BannerText? = nil,
        in listing: Listing
    ) {
        let now = Timestamp.now
        let outcome = hasAnswers ? answer?.cell ?? Cell("") : nil
        write(
            .object(event.members(verdict: answer?.verdict, isHeld: answer?.isHeld ?? false, text: text)),
            text: listing.line(
                event.cells(time: { $0.clock(seenAt: now) }, outcome: outcome, text: text),
                elsewhere: event.line(answer: answer?.word, text: text)))
    }
}

extension Outcome.Kind {
    /// Green: claimed or read. Yellow: undecided or shown. Red: never shown. Dim: nothing to do about it.
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

/// The reply to a claim, which may be provisional.
struct ClaimAnswer: Sendable {
    let verdict: Verdict
    /// Whether the event is only held: the claim has to be confirmed.
    let isHeld: Bool

    init(_ verdict: Verdict, isProvisional: Bool) {
        self.verdict = verdict
        isHeld = isProvisional && verdict == .suppressed
    }

    var word: String { isHeld ? "held" : verdict.rawValue }
    var cell: Cell { Cell(word, isHeld ? .yellow : verdict == .recorded ? .dim : .green) }
}

extension Outcome {
    /// The outcome, then its details.
    ///
    /// - Parameter confirmed: how long after publishing the claim was confirmed, if it was provisional and that is
    ///   known.
    func line(confirmed: Duration? = nil) -> String {
        ([Terminal.plain(kind.rawValue)] + details(confirmed: confirmed)).joined(separator: " ")
    }

    func details(confirmed: Duration? = nil) -> [String] {
        var parts: [String] = []
        if let device { parts.append("on \(Terminal.plain(device))") }
        if let by { parts.append("by \(Claimant.text(by, program))") }
        if let action { parts.append("by the button “\(Terminal.plain(action))”") }
        if let latency {
            let moment = latency == .zero ? "as it came in" : "after \(latency.displayText)"
            let confirmation = confirmed.map { ", confirmed after \($0.displayText)" } ?? ""
            parts.append(kind == .claimed && form == "ClaimProvisionally" ? "held \(moment)\(confirmation)" : moment)
        }
        // Details of the banner.
        guard kind == .shown else { return parts }
        if let count, count > 1 { parts.append("together with \(count - 1) more") }
        if let lateness {
            parts.append("\(lateness.displayText) after its window" + (delay?.words.map { ": " + $0 } ?? ""))
        }
        return parts
    }

    var members: [(String, JSON)] {
        JSON.present([
            "outcome": kind.rawValue, "by": by, "program": program, "latency": latency,
            "form": form, "banner": banner, "count": count, "lateness": lateness,
            "delay": delay?.rawValue, "action": action, "device": device,
        ])
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

    var line: String { "\(id)  \(Terminal.bold(Terminal.plain(topic)))  ⏎ \(Terminal.plain(action))" }

    var json: JSON { ["id": id.rawValue, "topic": topic, "action": action] }
}

extension ListedScreen {
    /// - Parameter programs: the programs of owners, by unique name.
    func cells(_ programs: [String: String]) -> [Cell] {
        [
            .topic(topic), Cell(mode.rawValue), Cell(state.rawValue, state == .hidden ? .dim : .plain),
            Cell(Claimant.text(owner, programs[owner]), .dim),
        ]
    }

    func json(_ programs: [String: String]) -> JSON {
        JSON.object(present: [
            "screen": id, "topic": topic, "mode": mode.rawValue, "state": state.rawValue, "owner": owner,
            "program": programs[owner],
        ])
    }
}
