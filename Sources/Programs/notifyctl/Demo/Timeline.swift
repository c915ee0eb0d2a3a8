import NotifyClient
import Routing

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
