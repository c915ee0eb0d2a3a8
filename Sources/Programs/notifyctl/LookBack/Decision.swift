import NotifyClient
import NotifyText

/// The decision about an event as a drawing with a sentence below it. All times count from publishing, or from the
/// opening of the window if the machine was restarted in between.
struct Decision {
    private let explanation: Explanation
    /// Whether the window of an undecided event is over.
    private let isOver: Bool

    /// - Parameter now: microseconds since the epoch; `nil`: the window of an undecided event is open.
    init(_ explanation: Explanation, now: Int64? = nil) {
        self.explanation = explanation
        isOver = explanation.outcome != nil || (now ?? .min) >= explanation.deadline ?? .max
    }

    /// The end of a banner that is up: beyond every drawing.
    private static let edge: Duration = .seconds(Int64.max / 2_000_000)

    private var outcome: Outcome.Kind? { explanation.outcome }
    /// When the window was opened: before publishing, if another event opened it.
    private var opened: Duration? { sinceStart(explanation.opened) }
    private var deadline: Duration? { sinceStart(explanation.deadline) }
    private var resolved: Duration? { sinceStart(explanation.resolved) }

    private func sinceStart(_ moment: Int64?) -> Duration? { moment.map { .microseconds($0 - explanation.start) } }

    /// - Parameter limit: the width of a line; `nil`: no limit.
    func lines(within limit: Int? = nil) -> [String] {
        func broken(_ cell: Cell, _ indentation: String = "") -> [String] {
            (limit.map { cell.wrapped(to: $0 - indentation.columns) } ?? [cell]).map { indentation + $0.written().text }
        }
        let head =
            Cell("Event \(explanation.id)", .bold) + Cell("  " + explanation.topic)
            + Cell("  published " + Timestamp(explanation.published).text, .dim)
        let word = outcome?.rawValue ?? "undecided"
        return broken(head) + [""] + timeline(within: limit).lines(within: limit) + [""]
            + broken(Cell(word + ":", .bold) + Cell(" " + explanation.reason), "  ")
    }

    /// - Parameter limit: the width of a line. The name of a claimant that does not fit beside the drawing goes below
    ///   it.
    func timeline(within limit: Int? = nil) -> Timeline {
        var lanes = [publisher]
        if deadline != nil, outcome != .silent { lanes.append(window) }
        lanes += claimants(within: limit)
        lanes.append(banner)
        return Timeline(lanes: lanes, scale: .showing(horizon))
    }

    /// The scale fits the window and the first steps; a claim hours later is drawn at the edge.
    private var horizon: Duration {
        let window = max(deadline ?? .zero, explanation.window, .milliseconds(10))
        let last = (explanation.claims.compactMap(time) + [resolved ?? .zero, bannerTime ?? .zero]).max() ?? .zero
        if isCutShort { return min(max(last * 3, .milliseconds(10)), window * 3 / 2) }
        return max(window * 3 / 2, min(last, window * 4))
    }

    /// Whether the window ended early for the event: all its events were claimed, or this one was withdrawn or
    /// replaced.
    private var isCutShort: Bool {
        let leaves: [Outcome.Kind?] = [.claimed, .withdrawn, .replaced]
        guard leaves.contains(outcome), let resolved, let deadline else { return false }
        return resolved < deadline
    }

    // MARK: Lanes

    private var publisher: Timeline.Lane {
        let source = explanation.source.map { ", from " + Terminal.plain($0) } ?? ""
        let boot = explanation.isOfEarlierBoot ? " before the machine was started; times count from its new window" : ""
        return Timeline.Lane(
            actor: "publisher", marks: [(.zero, "P")],
            note: Terminal.plain(explanation.sender ?? "") + " published it" + source + boot, style: Terminal.bold)
    }

    private var window: Timeline.Lane {
        let start = max(opened ?? .zero, .zero)
        let planned = deadline ?? .zero
        let end = isCutShort ? closing ?? planned : planned
        var notes = ["ends at \(planned.displayText)"]
        if isCutShort { notes = ["closed at \(end.displayText); it would have ended at \(planned.displayText)"] }
        if explanation.isReplayed {
            notes.insert("opened again at \(start.displayText) after a restart of notifyd", at: 0)
        } else if let opened, opened <= .milliseconds(-1) {
            notes.insert("opened \((.zero - opened).displayText) before", at: 0)
        }
        if isDueToHold {
            notes[notes.count - 1] = "it was held until \(end.displayText), and its banner was due then"
        } else if let lateness = explanation.lateness, explanation.delay == nil, snoozed == nil {
            notes.append("its timer came \(lateness.displayText) late")
        }
        return Timeline.Lane(
            actor: "window", spans: [(start, end, "=")], marks: [(start, "["), (end, isOver ? "]" : ">")],
            note: notes.joined(separator: ", "), style: Terminal.dim)
    }

    /// When the window ended early. The two times come from different clocks; no window ends before the claim that
    /// ended it.
    private var closing: Duration? { [resolved, explanation.decidingClaim.flatMap(time)].compactMap(\.self).max() }

    /// Whether the banner was due when a provisional claim failed. The two times come from different clocks.
    private var isDueToHold: Bool {
        guard let end = explanation.claims.last(where: { $0.isEnd })?.after, let deadline else { return false }
        return end >= deadline - .milliseconds(10) && end <= deadline + .milliseconds(10)
    }

    /// When a step was taken. If times count from the opening of the window, only that of the deciding claim is known.
    private func time(_ claim: Explanation.Claim) -> Duration? {
        claim.after ?? (explanation.isOfEarlierBoot && claim == explanation.decidingClaim ? resolved : nil)
    }

    /// One lane for each claimant, in the order of their first claims.
    private func claimants(within limit: Int?) -> [Timeline.Lane] {
        var lanes: [Timeline.Lane] = []
        for claim in explanation.claims {
            let name = Claimant.text(claim.by, claim.program)
            let hasRoom = limit.map { Timeline.width(of: name) <= $0 } ?? true
            let actor = hasRoom ? name : Terminal.plain(claim.by)
            let mark: Character = claim.isSnooze ? "z" : claim.isEnd ? "r" : claim.verdict == .recorded ? "c" : "C"
            let marks = time(claim).map { [(time: $0, symbol: mark)] } ?? []
            let note = claim.sentence(at: time(claim))
            if let index = lanes.firstIndex(where: { $0.actor == actor }) {
                lanes[index].marks += marks
                lanes[index].note += "; " + note
            } else {
                lanes.append(
                    Timeline.Lane(
                        actor: actor, marks: marks, note: (hasRoom ? "" : name + ": ") + note,
                        style: Terminal.green))
            }
        }
        return lanes
    }

    /// An answer of the notification server that took so long is told.
    private static let slowAnswer: Duration = .milliseconds(100)

    private var banner: Timeline.Lane {
        if let snoozed { return banner(snoozedAt: snoozed) }
        var lane = Timeline.Lane(actor: "banner")
        guard let start = bannerTime else {
            lane.note =
                switch outcome {
                case nil: "none yet"
                case .retracted?: "claimed before the notification server answered"
                default: "none"
                }
            return lane
        }
        lane.style = Terminal.red
        let retraction = explanation.claims.last { $0.verdict == .retracted }
        let end: Duration? =
            switch outcome {
            case .retracted?: retraction.flatMap(time)
            case .dismissed?, .withdrawn?, .replaced?: resolved
            default: nil
            }
        lane.spans = [(start, end ?? Self.edge, "#")]
        lane.marks = [(start, "B")]
        lane.note = "at \(start.displayText)"
        if outcome == .shown, let resolved, resolved - start >= Self.slowAnswer {
            lane.note += "; the notification server answered at \(resolved.displayText)"
        }
        lane.note += countAndDelay
        if let end {
            lane.marks.append((end, "x"))
            lane.note += ", \(ending) at \(end.displayText)"
        } else if outcome == .retracted {
            lane.note += retraction == nil ? ", not taken back" : ", taken back after the machine was started"
        }
        return lane
    }

    /// When the event was snoozed last. The journal keeps only what became of it then.
    private var snoozed: Duration? { explanation.claims.last { $0.form == "Snooze" }.flatMap(time) }

    private func banner(snoozedAt snoozed: Duration) -> Timeline.Lane {
        var lane = Timeline.Lane(actor: "banner")
        lane.style = Terminal.red
        switch outcome {
        case .shown? where resolved ?? .zero > snoozed:
            let start = resolved ?? snoozed
            lane.spans = [(start, Self.edge, "#")]
            lane.marks = [(start, "B")]
            lane.note = "back at \(start.displayText)" + countAndDelay
        case .shown?:
            let start = bannerTime ?? .zero
            lane.spans = [(start, snoozed, "#")]
            lane.marks = [(start, "B"), (snoozed, "x")]
            lane.note = "at \(start.displayText), snoozed at \(snoozed.displayText)"
        case .muted?, .expired?:
            lane.note = explanation.snoozed == nil ? "none after it was snoozed" : "none; it was snoozed"
            lane.note += " at \(snoozed.displayText)"
        case .claimed?: lane.note = "none since it was snoozed at \(snoozed.displayText)"
        case .retracted?, .dismissed?:
            let end = outcome == .retracted ? "claimed" : ending
            lane.note = "back after it was snoozed at \(snoozed.displayText)"
            if let resolved { lane.note += ", \(end) at \(resolved.displayText)" }
        default: lane.note = "there may have been one before and after it was snoozed at \(snoozed.displayText)"
        }
        return lane
    }

    /// How many events the banner is for, and why it came late.
    private var countAndDelay: String {
        var words = ""
        if let count = explanation.count, count > 1 { words += ", for \(count) events" }
        if let delay = explanation.delay?.words {
            words += ", \(explanation.lateness?.displayText ?? "") late: \(delay)"
        }
        return words
    }

    private var ending: String {
        switch outcome {
        case .dismissed?:
            explanation.action.map { "“\(Terminal.plain($0))” pressed" } ?? "closed by the user"
        case .withdrawn?: "withdrawn"
        case .replaced?: "replaced"
        default: "taken back"
        }
    }

    /// When the notification server was asked for the banner: a later outcome leaves out when it answered.
    private var bannerTime: Duration? {
        let lateness = explanation.lateness
        return switch outcome {
        case .shown?, .dismissed?: deadline.map { $0 + (lateness ?? .zero) }
        // Not all of these were shown.
        case .retracted?, .withdrawn?, .replaced?: deadline.flatMap { deadline in lateness.map { deadline + $0 } }
        default: nil
        }
    }
}

extension Explanation.Claim {
    /// The step, its time, and its verdict.
    ///
    /// - Parameter time: `nil` if it is not known.
    fileprivate func sentence(at time: Duration?) -> String {
        let moment = time.map { " at \($0.displayText)" } ?? ""
        return switch form {
        case "Release": "released" + moment
        case "ranout": "not confirmed in time" + (time.map { ", which ended at \($0.displayText)" } ?? "")
        case "left": "left the bus" + moment
        case "Snooze": "snoozed it" + moment
        case "ClaimProvisionally" where verdict == .suppressed: "\(form)\(moment): held"
        default: "\(Terminal.plain(form))\(moment): \(Terminal.plain(verdict.rawValue))"
        }
    }
}

extension Explanation {
    /// About when the daemon accepted the event. If the publisher says that it happened long ago, or will happen, this
    /// is when the window was opened.
    var start: Int64 {
        if isOfEarlierBoot { return opened ?? resolved ?? published }
        // The wall clock may have been set in between.
        if let accepted, isReplayed || (opened ?? .min) <= accepted, accepted <= deadline ?? resolved ?? .max {
            return accepted
        }
        guard let opened, let deadline, !(opened - 1_000_000...max(opened, deadline)).contains(published) else {
            return published
        }
        return opened
    }
}

/// A drawing of events over time, like a marble diagram: one lane for each actor, one character for each step of time,
/// and a note with exact times beside each lane.
struct Timeline {
    struct Lane {
        let actor: String
        /// Later entries are drawn over earlier ones.
        var spans: [(from: Duration, to: Duration, fill: Character)] = []
        var marks: [(time: Duration, symbol: Character)] = []
        var note = ""
        var style: @Sendable (String) -> String = { $0 }
    }

    static let columns = 26
    static let column = Duration.milliseconds(10)

    var lanes: [Lane]
    var scale = Scale.fine

    /// - Parameter limit: the width of a line. Notes that do not fit beside the drawing go below it.
    func lines(within limit: Int? = nil) -> [String] {
        let width = (lanes.map(\.actor.columns).max() ?? 0) + 4
        let margin = String(repeating: " ", count: width)
        let ruler = margin + Timeline.ruler(scale.labels)
        // The last label is wider than its tick, and is left out if it does not fit.
        let isTooWide = limit.map { ruler.columns > $0 } ?? false
        return [isTooWide ? margin + Timeline.ruler(scale.labels.dropLast() + [""]) : ruler, margin + Timeline.ticks]
            + lanes.flatMap { lane in
                let name = "  " + lane.actor
                let drawing = name + String(repeating: " ", count: width - name.columns) + lane.style(drawn(lane))
                let beside = width + Timeline.columns + 2
                guard let limit, beside + lane.note.columns > limit else { return [drawing + "  " + lane.note] }
                let margin = limit - beside >= 30 ? beside : 4
                let note = Cell(lane.note).wrapped(to: max(limit - margin, 1)).map { $0.written().text }
                let indented = note.map { String(repeating: " ", count: margin) + $0 }
                return margin == 4
                    ? [drawing] + indented : [drawing + "  " + (note.first ?? "")] + indented.dropFirst()
            }
    }

    /// The width of the drawing with the name of an actor.
    static func width(of actor: String) -> Int { actor.columns + 4 + columns }

    private func drawn(_ lane: Lane) -> String {
        var cells = [Character](repeating: "-", count: Timeline.columns)
        for span in lane.spans {
            let (first, last) = (cell(span.from), cell(span.to))
            if first <= last { for cell in first...last { cells[cell] = span.fill } }
        }
        for mark in lane.marks { cells[cell(mark.time)] = mark.symbol }
        return String(cells)
    }

    /// Times outside the drawing are drawn at its edge.
    private func cell(_ time: Duration) -> Int {
        Int(max(0, min(Int64(Timeline.columns) - 1, time.microseconds / scale.column.microseconds)))
    }

    private static let ticks = ruler([String](repeating: "|", count: 6))

    private static func ruler(_ labels: [String]) -> String {
        labels.dropLast().map { $0 + String(repeating: " ", count: 5 - $0.count) }.joined() + labels[labels.count - 1]
    }
}

extension Timeline {
    struct Scale: Hashable, Sendable {
        private let unit: Duration
        private let name: String
        private let step: Int

        static let fine = Scale(unit: .milliseconds(1), name: "ms", step: 10)

        private static let all: [Scale] =
            [1, 2, 5, 10, 20, 50, 100, 200].map { Scale(unit: .milliseconds(1), name: "ms", step: $0) }
            + [(1, "s"), (60, "min"), (3600, "h"), (86400, "d")].flatMap { seconds, name in
                [1, 2, 5, 10, 20].map { Scale(unit: .seconds(seconds), name: name, step: $0) }
            }

        /// The finest scale on which a drawing shows this much time.
        static func showing(_ time: Duration) -> Scale {
            all.first { $0.column * (Timeline.columns - 1) >= time } ?? all[all.count - 1]
        }

        var column: Duration { unit * step }

        var labels: [String] { (0...5).map { $0 == 0 ? "0 " + name : "\($0 * 5 * step)" } }
    }
}
