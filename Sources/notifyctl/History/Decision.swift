import NotifyClient

/// The decision about an event as a drawing, with a sentence below it. All times count from publishing.
struct Decision {
    private let explanation: Explanation
    private let outcome: Outcome.Kind?
    /// When the window was opened: before publishing, where another event opened it.
    private let opened: Duration?
    private let deadline: Duration?
    private let resolved: Duration?

    init(_ explanation: Explanation) {
        self.explanation = explanation
        outcome = explanation.outcome
        let start = explanation.start
        func sinceStart(_ moment: Int64?) -> Duration? { moment.map { .microseconds($0 - start) } }
        opened = sinceStart(explanation.opened)
        deadline = sinceStart(explanation.deadline)
        resolved = sinceStart(explanation.resolved)
    }

    var lines: [String] { lines(within: nil) }

    /// - Parameter limit: how wide a line may be; `nil`: nothing is broken.
    func lines(within limit: Int?) -> [String] {
        func broken(_ cell: Cell, _ indentation: String = "") -> [String] {
            (limit.map { cell.wrapped(to: $0 - indentation.columns) } ?? [cell]).map { indentation + $0.written().text }
        }
        let head =
            Cell("Event \(explanation.id)", .bold) + Cell("  " + explanation.topic)
            + Cell("  published " + Moment(explanation.published).text, .dim)
        let word = outcome?.rawValue ?? "undecided"
        return broken(head) + [""] + timeline(within: limit).lines(within: limit) + [""]
            + broken(Cell(word + ":", .bold) + Cell(" " + explanation.reason), "  ")
    }

    /// - Parameter limit: how wide a line may be. A claimant whose name has no room beside the drawing is named below it.
    func timeline(within limit: Int? = nil) -> Timeline {
        var lanes = [publisher]
        if deadline != nil, outcome != .silent { lanes.append(window) }
        lanes += claimants(within: limit)
        lanes.append(banner)
        return Timeline(lanes: lanes, scale: Timeline.Scale(showing: horizon))
    }

    /// What happened fills a good part of the picture; a claim or an end hours later is drawn at the edge.
    private var horizon: Duration {
        let window = max(deadline ?? .zero, explanation.window, .milliseconds(10))
        let last = (explanation.claims.map(\.after) + [resolved ?? .zero, bannerTime ?? .zero]).max() ?? .zero
        if isCutShort { return min(max(last * 3, .milliseconds(10)), window * 3 / 2) }
        return max(window * 3 / 2, min(last, window * 4))
    }

    /// Whether the window closed before its time, because there was nothing left to wait for.
    private var isCutShort: Bool {
        guard outcome == .claimed, let resolved, let deadline else { return false }
        return resolved < deadline
    }

    // MARK: Lanes

    private var publisher: Timeline.Lane {
        let source = explanation.source.map { ", from " + Terminal.plain($0) } ?? ""
        return Timeline.Lane(
            actor: "publisher", marks: [(.zero, "P")],
            note: Terminal.plain(explanation.sender ?? "") + " published it" + source, style: Terminal.bold)
    }

    private var window: Timeline.Lane {
        let start = max(opened ?? .zero, .zero)
        let planned = deadline ?? .zero
        let end = isCutShort ? resolved ?? planned : planned
        var notes = ["ends at \(planned.figure)"]
        if let opened, opened < .zero { notes.insert("opened \((.zero - opened).figure) before", at: 0) }
        if isCutShort { notes = ["closed at \(end.figure); it would have ended at \(planned.figure)"] }
        if let lateness = explanation.lateness { notes.append("its timer came \(lateness.figure) late") }
        return Timeline.Lane(
            actor: "window", spans: [(start, end, "=")], marks: [(start, "["), (end, outcome == nil ? ">" : "]")],
            note: notes.joined(separator: ", "), style: Terminal.dim)
    }

    /// One lane for each claimant, in the order of their first claims.
    private func claimants(within limit: Int?) -> [Timeline.Lane] {
        var lanes: [Timeline.Lane] = []
        for claim in explanation.claims {
            let name = Claimant.text(claim.by, claim.program)
            let hasRoom = limit.map { Timeline.width(of: name) <= $0 } ?? true
            let actor = hasRoom ? name : Terminal.plain(claim.by)
            let mark: Character = claim.isEnd ? "r" : claim.verdict == .recorded ? "c" : "C"
            let note = claim.sentence
            if let index = lanes.firstIndex(where: { $0.actor == actor }) {
                lanes[index].marks.append((claim.after, mark))
                lanes[index].note += "; " + note
            } else {
                lanes.append(
                    Timeline.Lane(
                        actor: actor, marks: [(claim.after, mark)], note: (hasRoom ? "" : name + ": ") + note,
                        style: Terminal.green))
            }
        }
        return lanes
    }

    private var banner: Timeline.Lane {
        var lane = Timeline.Lane(actor: "banner")
        guard let start = bannerTime else {
            lane.note = outcome == nil ? "none yet" : "none"
            return lane
        }
        lane.style = Terminal.red
        let retraction = explanation.claims.last { $0.verdict == .retracted }?.after
        let end: Duration? =
            switch outcome {
            case .retracted?: retraction ?? resolved
            case .dismissed?: resolved
            default: nil
            }
        lane.spans = [(start, end ?? .seconds(Int64.max / 2_000_000), "#")]
        lane.marks = [(start, "B")]
        lane.note = "at \(start.figure)"
        if let count = explanation.count, count > 1 { lane.note += ", for \(count) events" }
        if let end {
            lane.marks.append((end, "x"))
            let closing = explanation.action.map { ", “\(Terminal.plain($0))” pressed at" } ?? ", closed by the user at"
            lane.note += outcome == .dismissed ? closing : ", taken back at"
            lane.note += " \(end.figure)"
        }
        return lane
    }

    private var bannerTime: Duration? {
        switch outcome {
        case .shown?: deadline.map { $0 + (explanation.lateness ?? .zero) } ?? resolved
        case .retracted?, .dismissed?: deadline.map { $0 + (explanation.lateness ?? .zero) }
        default: nil
        }
    }
}

extension Explanation.Claim {
    /// The step, when it was, and what came of it.
    fileprivate var sentence: String {
        switch form {
        case "Release": "released at \(after.figure)"
        case "ranout": "not confirmed in time, which ended at \(after.figure)"
        case "left": "left the bus at \(after.figure)"
        default: "\(Terminal.plain(form)) at \(after.figure): \(Terminal.plain(verdict.rawValue))"
        }
    }
}

extension Explanation {
    /// When the daemon got it, or nearly so. A publisher may say that it happened long ago, or will; then this is when the
    /// window was opened.
    var start: Int64 {
        guard let opened, let deadline, !(opened - 1_000_000...max(opened, deadline)).contains(published) else {
            return published
        }
        return opened
    }
}
