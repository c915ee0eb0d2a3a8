internal import Routing

/// Draws lanes: the same picture that is read.
enum Drawing {
    static let ticks = 10

    /// The lines of one lane. What shares a column stands one below the other, or in a group where it is the last.
    static func lines(_ marks: [Lane.Mark], width: Int = 0) -> [String] {
        let columns = Dictionary(grouping: marks, by: \.column).mapValues { $0.map(\.symbol) }
        let last = columns.keys.max() ?? -1
        let depth = columns.filter { $0.key != last }.map(\.value.count).max() ?? 1
        return (0..<depth).map { row in
            var line = ""
            for column in 0..<max(width, last + 1) {
                guard let symbols = columns[column] else {
                    line.append("-")
                    continue
                }
                if column == last, symbols.count > 1 {
                    if row > 0 { break }
                    return line + "(" + String(symbols) + ")"
                }
                line.append(row < symbols.count ? symbols[row] : "-")
            }
            return line
        }
    }

    /// Milliseconds above every tenth column.
    static func ruler(width: Int, step: Duration) -> String {
        var line = ""
        for column in stride(from: 0, through: max(0, width - 1), by: ticks) {
            let label = "\((step * column).microseconds / 1000)"
            // A label that has no room is left out rather than moved.
            if column > 0, line.count >= column { continue }
            line += String(repeating: " ", count: column - line.count) + label
        }
        return line
    }
}

extension Scenario: CustomStringConvertible {
    /// The scenario as it is read: the canonical form of its file, without comments.
    public var description: String {
        let paragraphs = [[title], settingLines, picture, answers.map(\.description) + remarks.map(\.description)]
        return paragraphs.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n") + "\n"
    }

    private var settingLines: [String] {
        let standard = Settings()
        var lines: [String] = []
        if settings.step != standard.step { lines.append("step \(settings.step.written)") }
        if settings.window != standard.window { lines.append("window \(settings.window.written)") }
        if settings.maximumPerSecond != 0 { lines.append("max_per_second \(settings.maximumPerSecond)") }
        if let states = settings.suppressingStates { lines.append("suppress \(states.joined(separator: ", "))") }
        if let reason = settings.virtualOnly { lines.append("virtual only: \(reason)") }
        if let count = settings.realTimeEvents { lines.append("real-time events \(count)") }
        lines += routes.map { "route " + ([$0.pattern] + $0.attributes.map(\.description)).joined(separator: " ") }
        lines += events.map(\.description)
        for screen in screens { lines += [screen.description] + screen.changeLines }
        return lines + topics.map(\.description)
    }

    private var picture: [String] {
        guard !lanes.isEmpty else { return [] }
        let width = (lanes.flatMap(\.marks).map(\.column).max() ?? 0) + 1
        let margin = lanes.map(\.name.count).max()! + 2
        func line(_ name: String, _ text: String) -> String {
            name + String(repeating: " ", count: margin - name.count) + text
        }
        return [line("ms", Drawing.ruler(width: width, step: settings.step))]
            + lanes.flatMap { lane in Drawing.lines(lane.marks, width: width).map { line(lane.name, $0) } }
    }
}

extension Scenario.EventLine: CustomStringConvertible {
    public var description: String {
        var parts = ["\(symbol) = \(topic)"]
        if !fields.isEmpty { parts.append("{" + fields.map(\.description).joined(separator: " ") + "}") }
        if let series { parts.append("\(series.count) times \(series.apart.written) apart") }
        return (parts + options.map(\.description)).joined(separator: " ")
    }
}

extension Scenario.ScreenLine: CustomStringConvertible {
    public var description: String {
        (["\(symbol) = screen on \(topic)"] + options.map(\.description)).joined(separator: " ")
    }

    fileprivate var changeLines: [String] {
        changes.map { "\(symbol) at \($0.digit): " + $0.options.map(\.description).joined(separator: " ") }
    }
}

extension Scenario.TopicLine: CustomStringConvertible {
    public var description: String { "\(symbol) = topic \(topic)" + (time.map { " for \($0.written)" } ?? "") }
}

extension Scenario.AnswerLine: CustomStringConvertible {
    public var description: String {
        let time = time.map { " for \($0.written)" } ?? ""
        return "\(actor) \(verb) \(symbol)\(time): \(answers.joined(separator: ", "))"
    }
}

extension Scenario.Remark: CustomStringConvertible {
    public var description: String {
        switch self {
        case .counts(let symbol, let count): "\(symbol) counts \(count)"
        case .repeats(let symbol, let first): "\(symbol) repeats \(first)"
        case .refused(let symbol, let name): "\(symbol) is refused: \(name)"
        case .undecided(let symbol): "\(symbol) stays undecided"
        case .each(let symbol, let fate): "each \(symbol) shown \(fate)"
        }
    }
}

extension Scenario.SeriesFate: CustomStringConvertible {
    public var description: String {
        let delay =
            switch delay {
            case .after(let length): "after \(length.written)"
            case .within(let length): "within \(length.written)"
            }
        return "\(delay), \(perBanner) to a banner" + (updated ? ", updated in place" : "")
    }
}
