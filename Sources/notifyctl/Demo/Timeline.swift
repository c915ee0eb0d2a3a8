import NotifyClient
import Routing

/// A drawing of what happened when, in the manner of marble diagrams: one lane for each actor, one character for each
/// 10 ms, and beside each lane what it shows, with the exact figures.
struct Timeline {
    struct Lane {
        let actor: String
        /// Later entries are drawn over earlier ones.
        var spans: [(from: Duration, to: Duration, fill: Character)] = []
        var marks: [(time: Duration, symbol: Character)] = []
        var note = ""
    }

    static let columns = 26
    static let column = Duration.milliseconds(10)

    var lanes: [Lane]

    var lines: [String] {
        let width = (lanes.map(\.actor.count).max() ?? 0) + 4
        let margin = String(repeating: " ", count: width)
        return [margin + Timeline.numbers, margin + Timeline.ticks]
            + lanes.map { lane in
                let name = "  " + lane.actor
                return name + String(repeating: " ", count: width - name.count) + drawn(lane) + "  " + lane.note
            }
    }

    private func drawn(_ lane: Lane) -> String {
        var cells = [Character](repeating: "-", count: Timeline.columns)
        for span in lane.spans {
            let (first, last) = (Timeline.cell(span.from), Timeline.cell(span.to))
            if first <= last { for cell in first...last { cells[cell] = span.fill } }
        }
        for mark in lane.marks { cells[Timeline.cell(mark.time)] = mark.symbol }
        return String(cells)
    }

    /// What lies outside is drawn at the edge.
    static func cell(_ time: Duration) -> Int {
        Int(max(0, min(Int64(columns) - 1, time.microseconds / column.microseconds)))
    }

    private static let numbers = ruler("0 ms", "50", "100", "150", "200", "250")
    private static let ticks = ruler("|", "|", "|", "|", "|", "|")

    private static func ruler(_ labels: String...) -> String {
        labels.dropLast().map { $0 + String(repeating: " ", count: 5 - $0.count) }.joined() + labels[labels.count - 1]
    }
}
