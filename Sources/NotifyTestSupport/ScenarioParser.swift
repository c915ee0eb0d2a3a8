/// Reads scenarios: the title first, then every line by what it begins with.
struct ScenarioParser {
    private let file: String
    private var scenario: Scenario?
    /// Where each thing stood, for errors that only show at the end.
    private var places: [String: LineReader] = [:]
    private var rulers: [(LineReader, [(column: Int, milliseconds: Int64)])] = []

    static func parse(_ text: String, file: String) throws(ScenarioError) -> Scenario {
        var parser = ScenarioParser(file: file)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            try parser.read(line, number: index + 1)
        }
        return try parser.finish()
    }

    private init(file: String) {
        self.file = file
    }

    private mutating func read(_ line: Substring, number: Int) throws(ScenarioError) {
        var reader = LineReader(line, file: file, line: number)
        if let tab = line.firstIndex(where: { $0 == "\t" || $0 == "\r" }) {
            throw reader.error(
                "lanes are aligned with spaces; this is a tab or a carriage return",
                at: line.distance(from: line.startIndex, to: tab))
        }
        let start = reader
        if reader.isAtEnd || reader.next == "#" { return }
        guard reader.next != " " else { throw reader.error("a line begins in its first column") }
        guard scenario != nil else {
            scenario = Scenario(title: reader.rest())
            return
        }
        let word = reader.word()
        switch word {
        case "step", "window", "max_per_second", "virtual", "real-time":
            try once(word, start)
            try readSetting(word, &reader)
        case "route":
            let pattern = reader.word()
            try once("route \(pattern)", start)
            scenario!.routes.append(Scenario.RouteLine(pattern: pattern, attributes: try reader.attributes(until: nil)))
        case "ms":
            rulers.append((start, try readRuler(&reader)))
        case "each":
            scenario!.remarks.append(try readEach(&reader))
        default:
            reader = start
            if word.count == 1 { try readAboutLetter(&reader) } else { try readNamed(&reader) }
        }
        try reader.expectEnd()
    }

    private mutating func once(_ thing: String, _ reader: LineReader) throws(ScenarioError) {
        if let earlier = places[thing] { throw reader.error("'\(thing)' is there already, in line \(earlier.line)") }
        places[thing] = reader
    }

    // MARK: Settings

    private mutating func readSetting(_ name: String, _ reader: inout LineReader) throws(ScenarioError) {
        switch name {
        case "step":
            let start = reader.position
            scenario!.settings.step = try reader.duration()
            if scenario!.settings.step == .zero { throw reader.error("a step takes some time", at: start) }
        case "window": scenario!.settings.window = try reader.duration()
        case "max_per_second": scenario!.settings.maximumPerSecond = try reader.count("a number of banners")
        case "virtual":
            try reader.expect("only:")
            scenario!.settings.virtualOnly = reader.rest()
            if scenario!.settings.virtualOnly!.isEmpty { throw reader.error("here the reason is expected") }
        default:
            try reader.expect("events")
            scenario!.settings.realTimeEvents = try reader.count("a number of events")
        }
    }

    // MARK: Lines about one letter

    private mutating func readAboutLetter(_ reader: inout LineReader) throws(ScenarioError) {
        let start = reader
        let symbol = try reader.symbol()
        if reader.skip("=") {
            try once("event \(symbol)", start)
            return scenario!.events.append(try readEvent(symbol, &reader))
        }
        if reader.skip("counts") {
            scenario!.remarks.append(.counts(symbol, try reader.count("a number of events")))
        } else if reader.skip("repeats") {
            scenario!.remarks.append(.repeats(symbol, of: try reader.symbol()))
        } else if reader.skip("is refused:") {
            scenario!.remarks.append(.refused(symbol, reader.word()))
        } else if reader.skip("stays undecided") {
            scenario!.remarks.append(.undecided(symbol))
        } else {
            throw reader.error("of an event one says '=', 'counts', 'repeats', 'is refused:' or 'stays undecided'")
        }
    }

    private func readEvent(_ symbol: Symbol, _ reader: inout LineReader) throws(ScenarioError) -> Scenario.EventLine {
        guard reader.next == "/" else { throw reader.error("here a topic such as /post/27 is expected") }
        var event = Scenario.EventLine(symbol: symbol, topic: reader.word())
        if reader.skip("{") { event.fields = try reader.attributes(until: "}") }
        if let next = reader.next, next.isNumber {
            let count = try reader.count("a number of events")
            try reader.expect("times")
            event.series = Scenario.Series(count: count, apart: try reader.duration())
            try reader.expect("apart")
        }
        event.options = try reader.attributes(until: nil)
        return event
    }

    private func readEach(_ reader: inout LineReader) throws(ScenarioError) -> Scenario.Remark {
        let symbol = try reader.symbol()
        try reader.expect("shown")
        let delay: Scenario.SeriesFate.Delay
        if reader.skip("within") {
            delay = .within(try reader.commaDuration())
        } else {
            try reader.expect("after")
            delay = .after(try reader.commaDuration())
        }
        let perBanner = try reader.count("a number of events")
        try reader.expect("to a banner")
        var updated = false
        if reader.skip(",") {
            try reader.expect("updated in place")
            updated = true
        }
        return .each(symbol, Scenario.SeriesFate(delay: delay, perBanner: perBanner, updated: updated))
    }

    // MARK: Lanes and claims

    private mutating func readNamed(_ reader: inout LineReader) throws(ScenarioError) {
        let start = reader
        let name = reader.word()
        if reader.skip("claims") { return try readClaims(name, start, &reader) }
        let marks = try readMarks(Lane.Role(laneNamed: name), &reader)
        if let index = scenario!.lanes.firstIndex(where: { $0.name == name }) {
            // The lane goes on: what stands in the same column happens after what stood there before.
            let merged = scenario!.lanes[index].marks + marks
            scenario!.lanes[index].marks = merged.enumerated()
                .sorted { ($0.element.column, $0.offset) < ($1.element.column, $1.offset) }.map(\.element)
        } else {
            scenario!.lanes.append(Lane(name: name, marks: marks))
            places["lane \(name)"] = start
        }
    }

    private mutating func readClaims(
        _ name: String, _ start: LineReader, _ reader: inout LineReader
    ) throws(ScenarioError) {
        let symbol: Symbol
        if reader.skip("?") { symbol = "?" } else { symbol = try reader.symbol() }
        try once("\(name) claims \(symbol)", start)
        try reader.expect(":")
        var verdicts: [String] = []
        repeat {
            let verdict = reader.take { $0 != "," && $0 != " " }
            guard ClaimAnswer.all.contains(verdict) else {
                throw reader.error("a verdict is one of \(ClaimAnswer.all.joined(separator: ", "))")
            }
            verdicts.append(verdict)
            reader.skipSpaces()
        } while reader.skip(",")
        scenario!.claims.append(Scenario.ClaimLine(claimant: name, symbol: symbol, verdicts: verdicts))
    }

    private func readMarks(_ role: Lane.Role, _ reader: inout LineReader) throws(ScenarioError) -> [Lane.Mark] {
        let start = reader.position
        var marks: [Lane.Mark] = []
        while let character = reader.next, character != " " {
            let column = reader.position - start
            if character == "(" {
                _ = reader.take()
                let group = reader.take { $0 != ")" }
                guard reader.take() == ")", reader.isAtEnd || reader.next == " " else {
                    throw reader.error(
                        "a group such as (ab) ends its line, so that columns stay aligned; the lane may go on in a second line"
                    )
                }
                for symbol in group { marks.append(Lane.Mark(column: column, symbol: symbol)) }
            } else {
                if character != "-" { marks.append(Lane.Mark(column: column, symbol: character)) }
                _ = reader.take()
            }
            if let wrong = marks.last?.symbol,
                !wrong.isSymbol && !role.signs.contains(wrong) || role == .server && wrong.isSymbol && wrong != "x"
            {
                throw reader.error("'\(wrong)' means nothing in this lane", at: reader.position - 1)
            }
        }
        return marks
    }

    /// Reads where the ruler says which moment is; it is checked when the step is known.
    private func readRuler(_ reader: inout LineReader) throws(ScenarioError) -> [(column: Int, milliseconds: Int64)] {
        let start = reader.position
        var ticks: [(column: Int, milliseconds: Int64)] = []
        while !reader.isAtEnd {
            let column = reader.position - start
            ticks.append((column, try reader.integer("a number of milliseconds")))
        }
        return ticks
    }

    private func finish() throws(ScenarioError) -> Scenario {
        guard let scenario else {
            throw ScenarioError(
                file: file, line: 1, column: 1, reason: "the title is missing: a sentence that says the fact")
        }
        for (reader, ticks) in rulers {
            for (column, milliseconds) in ticks where scenario.settings.step * column != .milliseconds(milliseconds) {
                throw reader.error(
                    "the ruler is wrong: column \(column) is \((scenario.settings.step * column).written)")
            }
        }
        try ScenarioCheck(scenario: scenario, file: file, places: places).run()
        return scenario
    }
}

extension LineReader {
    /// A duration with a comma after it.
    fileprivate mutating func commaDuration() throws(ScenarioError) -> Duration {
        let length = try duration()
        try expect(",")
        return length
    }
}

extension Scenario {
    /// Reads a scenario.
    ///
    /// - Throws: `ScenarioError`, with the line and the column.
    public init(parsing text: String, file: String) throws(ScenarioError) {
        self = try ScenarioParser.parse(text, file: file)
    }
}
