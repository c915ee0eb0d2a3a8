internal import Routing

/// Compares a recording with the expectations of a scenario, and reports every difference: lanes below each other, the
/// rest as sentences.
public struct Comparison {
    private let scenario: Scenario
    private let recording: Recording
    /// How much later than drawn an output may come. No output may come earlier.
    private let tolerance: Duration
    private let seriesLimit: Int?
    private var differences: [String] = []

    /// - Returns: an empty text if there is no difference, otherwise a report for people.
    public static func differences(
        between scenario: Scenario, and recording: Recording, tolerance: Duration = .zero, seriesLimit: Int? = nil
    ) -> [String] {
        var comparison = Comparison(
            scenario: scenario, recording: recording, tolerance: tolerance, seriesLimit: seriesLimit)
        comparison.run()
        return comparison.differences
    }

    /// The number of expectations that are not met yet.
    static func missing(in recording: Recording, from scenario: Scenario, seriesLimit: Int?) -> Int {
        var missing = 0
        for name in Lane.expectations {
            let came = recording.happenings.filter { $0.lane == name && !scenario.isSeries($0.occurrence.symbol) }
            missing += max(0, (scenario.lane(name)?.marks.count ?? 0) - came.count)
        }
        for case .each(let symbol, _) in scenario.remarks {
            let shown = recording.happenings.count { $0.lane == "shown" && $0.occurrence.symbol == symbol }
            missing += max(0, scenario.length(of: symbol, limit: seriesLimit) - shown)
        }
        return missing
    }

    private mutating func run() {
        differences = recording.faults
        for lane in Lane.expectations { compareLane(lane) }
        compareAnswers()
        compareRemarks()
        for case .each(let symbol, let fate) in scenario.remarks { compareSeries(symbol, fate) }
    }

    // MARK: Lanes

    private mutating func compareLane(_ name: String) {
        let expected = scenario.lane(name)?.marks ?? []
        let actual = recording.happenings
            .filter { $0.lane == name && !scenario.isSeries($0.occurrence.symbol) }.sorted { $0.at < $1.at }
        var problems: [String] = []
        for symbol in Set(expected.map(\.symbol) + actual.map(\.occurrence.symbol)).sorted() {
            let due = expected.filter { $0.symbol == symbol }.map { scenario.settings.step * $0.column }
            let came = actual.filter { $0.occurrence.symbol == symbol }
            for (due, came) in zip(due, came) {
                if came.at < due || came.at > due + tolerance {
                    problems.append(
                        "\(name) \(symbol) is due at \(due.milliseconds), it came at \(came.at.milliseconds)")
                }
                if let count = came.count, count != scenario.count(of: symbol) {
                    problems.append(
                        "\(name) \(symbol) stands for \(count) events, \(scenario.count(of: symbol)) are expected")
                }
            }
            problems += due.dropFirst(came.count).map {
                "\(name) \(symbol) is due at \($0.milliseconds), it never came"
            }
            problems += came.dropFirst(due.count).map { "\(name) \(symbol) came at \($0.at.milliseconds), unexpected" }
        }
        guard !problems.isEmpty else { return }
        differences.append((problems + draw(expected, actual)).joined(separator: "\n"))
    }

    private func draw(_ expected: [Lane.Mark], _ actual: [Recording.Happening]) -> [String] {
        let step = scenario.settings.step
        let came = actual.map { Lane.Mark(column: Int($0.at / step), symbol: $0.occurrence.symbol) }
        // Outputs hours later are reported above; a drawing would be too long.
        let drawn = came.filter { $0.column < 400 }
        let width = ((expected + drawn).map(\.column).max() ?? 0) + 1
        return ["    ms        " + Drawing.ruler(width: width, step: step)]
            + Drawing.lines(expected, width: width).map { "    expected  " + $0 }
            + Drawing.lines(drawn, width: width).map { "    actual    " + $0 }
    }

    // MARK: Answers

    private mutating func compareAnswers() {
        for call in scenario.calls {
            let expected = scenario.answers(to: call)
            let actual = recording.answers.filter { $0.call == call }.map(\.text)
            guard actual != expected else { continue }
            differences.append(
                "\(call): \(actual.joined(separator: ", ")); expected is \(expected.joined(separator: ", "))")
        }
    }

    private mutating func compareRemarks() {
        var repeats: [Symbol: Symbol] = [:]
        var refusals: [Symbol: String] = [:]
        var undecided: Set<Symbol> = []
        for remark in scenario.remarks {
            switch remark {
            case .repeats(let symbol, let first): repeats[symbol] = first
            case .refused(let symbol, let name): refusals[symbol] = name
            case .undecided(let symbol): undecided.insert(symbol)
            case .counts, .each: break
            }
        }
        for symbol in scenario.events.map(\.symbol) {
            if recording.repeats[symbol] != repeats[symbol] {
                differences.append(
                    "\(symbol) repeats \(recording.repeats[symbol].map(String.init) ?? "nothing"); "
                        + "expected is \(repeats[symbol].map(String.init) ?? "nothing")")
            }
            if recording.refusals[symbol] != refusals[symbol] {
                differences.append(
                    "\(symbol) is refused: \(recording.refusals[symbol] ?? "no"); expected is "
                        + "\(refusals[symbol] ?? "no")"
                )
            }
        }
        for occurrence in recording.undecided.sorted() where undecided.remove(occurrence.symbol) == nil {
            differences.append("\(occurrence) was never decided")
        }
        for symbol in undecided.sorted() {
            differences.append("\(symbol) was decided; expected is that it stays undecided")
        }
    }

    // MARK: Series

    private mutating func compareSeries(_ symbol: Symbol, _ fate: Scenario.SeriesFate) {
        let length = scenario.length(of: symbol, limit: seriesLimit)
        let happenings = recording.happenings.filter { $0.occurrence.symbol == symbol }
        let calls = happenings.filter { $0.lane == "banner" || $0.lane == "update" }.sorted { $0.at < $1.at }
        let shown = happenings.filter { $0.lane == "shown" }.map(\.occurrence.number)
        if shown.sorted() != Array(1...length) {
            differences.append("\(symbol): \(length) are to be shown once each; shown were \(shown.count)")
        }
        for other in happenings where !["banner", "update", "shown"].contains(other.lane) {
            differences.append("\(other.occurrence): \(other.lane) at \(other.at.milliseconds), unexpected")
        }
        var before = 0
        for call in calls {
            let newest = call.occurrence.number
            let size = newest - before
            let what = "\(call.lane) \(call.occurrence) at \(call.at.milliseconds)"
            if size < 1 || size > fate.perBanner || (size < fate.perBanner && newest < length) {
                differences.append("\(what) adds \(size) events, \(fate.perBanner) are expected")
            }
            if call.lane != (fate.updated && before > 0 ? "update" : "banner") {
                differences.append(
                    "\(what): \(fate.updated ? "one banner, updated in place," : "a new banner") is expected")
            }
            if call.count != (fate.updated ? newest : size) {
                differences.append("\(what) stands for \(call.count ?? 0) events")
            }
            compareDelay(of: call, oldest: Occurrence(symbol, before + 1), fate.delay)
            before = newest
        }
        if before != length { differences.append("\(symbol): the last banner speaks of number \(before) of \(length)") }
    }

    private mutating func compareDelay(
        of call: Recording.Happening, oldest: Occurrence, _ expected: Scenario.SeriesFate.Delay
    ) {
        guard let published = recording.published[oldest] else { return }
        let delay = call.at - published
        switch expected {
        case .after(let length) where delay < length || delay > length + tolerance,
            .within(let length) where delay > length + tolerance:
            differences.append("\(oldest) was shown after \(delay.milliseconds), expected is \(length.milliseconds)")
        default: break
        }
    }
}

private struct Call: Hashable, CustomStringConvertible {
    let actor: String
    let verb: Verb
    let symbol: Symbol

    var description: String { "\(actor) \(verb) \(symbol)" }
}

extension Recording.Answer {
    fileprivate var call: Call { Call(actor: actor, verb: verb, symbol: symbol) }
}

extension Scenario {
    fileprivate var calls: [Call] {
        var calls: [Call] = []
        for lane in lanes {
            guard case .actor(let actor, let verb) = lane.role else { continue }
            for mark in lane.marks where mark.symbol != Lane.leaving && mark.symbol != Lane.killing {
                let call = Call(actor: actor, verb: verb, symbol: mark.symbol)
                if !calls.contains(call) { calls.append(call) }
            }
        }
        return calls
    }

    /// Without such a line every call succeeds.
    fileprivate func answers(to call: Call) -> [String] {
        let line = answers.first { $0.actor == call.actor && $0.verb == call.verb && $0.symbol == call.symbol }
        if let line { return line.answers }
        let marks = lanes.filter { $0.role == .actor(call.actor, call.verb) }.flatMap(\.marks)
        return marks.filter { $0.symbol == call.symbol }.map { _ in Verb.done }
    }
}

extension Duration {
    /// For reports: milliseconds with up to three decimals.
    var milliseconds: String {
        let fraction = abs(microseconds % 1000)
        guard fraction != 0 else { return "\(microseconds / 1000) ms" }
        let digits = "\(fraction)"
        return "\(microseconds / 1000).\(String(repeating: "0", count: 3 - digits.count))\(digits) ms"
    }
}

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
