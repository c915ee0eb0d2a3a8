/// Reads the lines about one letter: what it stands for, and what is expected of it in words.
extension ScenarioParser {
    mutating func readAboutLetter(_ reader: inout LineReader) throws(ScenarioError) {
        let start = reader
        let symbol = try reader.symbol()
        if reader.skip("=") {
            try once("letter \(symbol)", start)
            return try readMeaning(of: symbol, &reader)
        }
        if reader.skip("at") {
            try readChange(of: symbol, start, &reader)
        } else if reader.skip("counts") {
            scenario!.remarks.append(.counts(symbol, try reader.count("a number of events")))
        } else if reader.skip("repeats") {
            scenario!.remarks.append(.repeats(symbol, of: try reader.symbol()))
        } else if reader.skip("is refused:") {
            scenario!.remarks.append(.refused(symbol, reader.word()))
        } else if reader.skip("stays undecided") {
            scenario!.remarks.append(.undecided(symbol))
        } else {
            throw reader.error(
                "of a letter one says '=', 'counts', 'repeats', 'is refused:', 'stays undecided' "
                    + "or, of a screen, 'at 1:'"
            )
        }
    }

    private mutating func readMeaning(of symbol: Symbol, _ reader: inout LineReader) throws(ScenarioError) {
        if reader.skip("screen") {
            try reader.expect("on")
            let topic = try reader.topic()
            scenario!.screens.append(
                Scenario.ScreenLine(symbol: symbol, topic: topic, options: try reader.attributes(until: nil)))
        } else if reader.skip("topic") {
            var line = Scenario.TopicLine(symbol: symbol, topic: try reader.topic())
            if reader.skip("for") { line.time = try reader.duration() }
            scenario!.topics.append(line)
        } else {
            scenario!.events.append(try readEvent(symbol, &reader))
        }
    }

    private mutating func readChange(
        of symbol: Symbol, _ start: LineReader, _ reader: inout LineReader
    ) throws(ScenarioError) {
        guard let index = scenario!.screens.firstIndex(where: { $0.symbol == symbol }) else {
            throw start.error("\(symbol) is not a screen; no line above says '\(symbol) = screen on …'")
        }
        guard let digit = reader.take(), "123456789".contains(digit) else {
            throw reader.error("here a digit of the screen's lane is expected")
        }
        try once("\(symbol) at \(digit)", start)
        try reader.expect(":")
        let options = try reader.attributes(until: nil)
        scenario!.screens[index].changes.append(Scenario.ScreenChange(digit: digit, options: options))
    }

    private func readEvent(_ symbol: Symbol, _ reader: inout LineReader) throws(ScenarioError) -> Scenario.EventLine {
        var event = Scenario.EventLine(symbol: symbol, topic: try reader.topic())
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

    func readEach(_ reader: inout LineReader) throws(ScenarioError) -> Scenario.Remark {
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
}

extension LineReader {
    fileprivate mutating func topic() throws(ScenarioError) -> String {
        guard next == "/" else { throw error("here a topic such as /post/27 is expected") }
        return word()
    }

    /// A duration with a comma after it.
    fileprivate mutating func commaDuration() throws(ScenarioError) -> Duration {
        let length = try duration()
        try expect(",")
        return length
    }
}
