/// Reads the picture, and the lines that say what the actors in it are answered.
extension ScenarioParser {
    mutating func readNamed(_ reader: inout LineReader) throws(ScenarioError) {
        let start = reader
        var name = reader.word()
        if let verb = answerVerb(reader) { return try readAnswers(name, verb, start, &reader) }
        if let second = secondWord(of: name, reader) {
            name += " " + second
            _ = reader.word()
        }
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

    /// `phone holds` and `phone's s` are names of lanes, if marks come after them.
    private func secondWord(of name: String, _ reader: LineReader) -> String? {
        var reader = reader
        let word = reader.word()
        guard !reader.isAtEnd else { return nil }
        let isScreen = name.hasSuffix("'s") && word.count == 1 && word.first!.isSymbol
        return isScreen || Verb(rawValue: word) != nil ? word : nil
    }

    // MARK: Answers

    /// The verb of a line such as `phone holds a for 1s: suppressed`, which its colon tells from a lane.
    private func answerVerb(_ reader: LineReader) -> Verb? {
        var reader = reader
        guard let verb = Verb(rawValue: reader.word()), reader.rest().contains(":") else { return nil }
        return verb
    }

    private mutating func readAnswers(
        _ actor: String, _ verb: Verb, _ start: LineReader, _ reader: inout LineReader
    ) throws(ScenarioError) {
        _ = reader.word()
        let symbol: Symbol
        if reader.skip("?") { symbol = Lane.unknownID } else { symbol = try reader.symbol() }
        try once("\(actor) \(verb) \(symbol)", start)
        var time: Duration?
        if verb == .holds {
            try reader.expect("for")
            time = try reader.duration()
        }
        try reader.expect(":")
        var answers: [String] = []
        repeat { answers.append(try readAnswer(verb, &reader)) } while reader.skip(",")
        scenario!.answers.append(
            Scenario.AnswerLine(actor: actor, verb: verb, symbol: symbol, time: time, answers: answers))
    }

    private func readAnswer(_ verb: Verb, _ reader: inout LineReader) throws(ScenarioError) -> String {
        let answer = reader.take { $0 != "," && $0 != " " }
        guard verb.answers.contains(answer) || verb == .claims && Int(answer) != nil else {
            let number = verb == .claims ? ", or, of a topic, a number of events" : ""
            throw reader.error("an answer is one of \(verb.answers.joined(separator: ", "))\(number)")
        }
        reader.skipSpaces()
        return answer
    }

    // MARK: Marks

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
                        "a group such as (ab) ends its line, so that columns stay aligned; the lane "
                            + "may go on in a second line"
                    )
                }
                for symbol in group { marks.append(Lane.Mark(column: column, symbol: symbol)) }
            } else {
                if character != "-" { marks.append(Lane.Mark(column: column, symbol: character)) }
                _ = reader.take()
            }
            if let wrong = marks.last?.symbol,
                !role.signs.contains(wrong) && !(role.hasLetters && wrong.isSymbol)
            {
                throw reader.error("'\(wrong)' means nothing in this lane", at: reader.position - 1)
            }
        }
        return marks
    }

    /// Reads where the ruler says which moment is; it is checked when the step is known.
    func readRuler(_ reader: inout LineReader) throws(ScenarioError) -> [(column: Int, milliseconds: Int64)] {
        let start = reader.position
        var ticks: [(column: Int, milliseconds: Int64)] = []
        while !reader.isAtEnd {
            let column = reader.position - start
            ticks.append((column, try reader.integer("a number of milliseconds")))
        }
        return ticks
    }
}
