import NotifyJSON

struct Finding: Equatable {
    enum Level: String {
        case ok
        /// It works, but not fully.
        case warning
        /// It does not work.
        case problem
    }

    let check: String
    let level: Level
    /// The state, in a few words.
    let state: String
    /// What to do, if anything.
    let advice: String?

    /// - Parameter state: the lines of an error become one.
    init(check: String, level: Level, state: String, advice: String?) {
        self.check = check
        self.level = level
        self.state = state.split(separator: "\n").joined(separator: "; ")
        self.advice = advice
    }

    static func ok(_ check: String, _ state: String) -> Finding {
        Finding(check: check, level: .ok, state: state, advice: nil)
    }

    static func warning(_ check: String, _ state: String, _ advice: String) -> Finding {
        Finding(check: check, level: .warning, state: state, advice: advice)
    }

    static func problem(_ check: String, _ state: String, _ advice: String) -> Finding {
        Finding(check: check, level: .problem, state: state, advice: advice)
    }
}

extension Finding {
    var json: JSON {
        .object(
            JSON.present([
                ("check", .string(check)), ("level", .string(level.rawValue)), ("state", .string(state)),
                ("advice", advice.map(JSON.string)),
            ]))
    }

    private var colour: Terminal.Style {
        switch level {
        case .ok: .green
        case .warning: .yellow
        case .problem: .red
        }
    }

    /// One line for each state, and one for its advice. Lines are not cut, so that commands can be copied.
    static func lines(_ findings: [Finding]) -> [String] {
        let rows = findings.flatMap { finding in
            [[Cell(finding.level.rawValue, finding.colour), Cell(finding.check), Cell(finding.state)]]
                + (finding.advice.map { [[Cell(""), Cell(""), Cell("→ " + $0)]] } ?? [])
        }
        guard let width = Terminal.size?.columns else { return Columns.lines(rows, within: nil) }
        // Long states and advice wrap within their column.
        return Columns.wrapped(
            rows.map { row in
                let name = row[1].columns == 0 ? Cell("") : row[0] + Cell("  ") + row[1]
                return [name, row[2]]
            }, within: width)
    }
}
