/// Reads scenarios: the title first, then every line by what it begins with.
struct ScenarioParser {
    private let file: String
    var scenario: Scenario?
    /// Where each thing stood, for errors that only show at the end.
    var places: [String: LineReader] = [:]
    private var rulers: [(LineReader, [(column: Int, milliseconds: Int64)])] = []

    static func parse(_ text: String, file: String) throws(ScenarioError) -> Scenario {
        var parser = ScenarioParser(file: file)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            try parser.read(line, number: index + 1)
        }
        return try parser.finish()
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
        case "step", "window", "max_per_second", "suppress", "virtual", "real-time":
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

    mutating func once(_ thing: String, _ reader: LineReader) throws(ScenarioError) {
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
        case "suppress":
            var states: [String] = []
            repeat { states.append(try reader.name("the state of a screen")) } while reader.skip(",")
            scenario!.settings.suppressingStates = states
        case "virtual":
            try reader.expect("only:")
            scenario!.settings.virtualOnly = reader.rest()
            if scenario!.settings.virtualOnly!.isEmpty { throw reader.error("here the reason is expected") }
        default:
            try reader.expect("events")
            scenario!.settings.realTimeEvents = try reader.count("a number of events")
        }
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

extension Scenario {
    /// Reads a scenario.
    ///
    /// - Throws: `ScenarioError`, with the line and the column.
    public init(parsing text: String, file: String) throws(ScenarioError) {
        self = try ScenarioParser.parse(text, file: file)
    }
}
