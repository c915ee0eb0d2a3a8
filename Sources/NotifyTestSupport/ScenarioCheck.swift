/// What a claimant can be answered: a verdict, or that there is no such event.
enum ClaimAnswer {
    static let unknown = "unknown"
    static let all = ["suppressed", "retracted", "recorded", unknown]
}

/// Looks over a scenario that has been read: everything that is drawn must be explained, and the other way round.
struct ScenarioCheck {
    let scenario: Scenario
    let file: String
    let places: [String: LineReader]

    func run() throws(ScenarioError) {
        try checkSymbols()
        try checkPublishing()
        try checkClaims()
        try checkSeries()
        try checkAttributes()
    }

    private func error(_ reason: String, about thing: String) -> ScenarioError {
        places[thing]?.error(reason) ?? ScenarioError(file: file, line: 1, column: 1, reason: reason)
    }

    private func checkSymbols() throws(ScenarioError) {
        for lane in scenario.lanes where lane.role != .server {
            for mark in lane.marks where mark.symbol.isSymbol && scenario.event(mark.symbol) == nil {
                throw error(
                    "the lane has \(mark.symbol), but no line says '\(mark.symbol) = …'", about: "lane \(lane.name)")
            }
        }
        for remark in scenario.remarks {
            for symbol in remark.symbols where scenario.event(symbol) == nil {
                throw error("a line speaks of \(symbol), but none says '\(symbol) = …'", about: "")
            }
        }
    }

    private func checkPublishing() throws(ScenarioError) {
        for event in scenario.events {
            let times = scenario.lanes.filter { $0.role == .publisher }.flatMap(\.marks).filter {
                $0.symbol == event.symbol
            }
            guard times.count == 1 else {
                throw error(
                    "\(event.symbol) is published \(times.count) times; a letter is one event",
                    about: "event \(event.symbol)")
            }
        }
    }

    private func checkClaims() throws(ScenarioError) {
        for lane in scenario.lanes where lane.role == .claimant {
            guard scenario.claims.contains(where: { $0.claimant == lane.name }) else {
                let names = Lane.expectations + Lane.UserAct.allCases.map(\.rawValue) + ["publisher", "server"]
                throw error(
                    "'\(lane.name)' is no lane of \(names.joined(separator: ", ")), and no line says what it is answered, "
                        + "as '\(lane.name) claims a: suppressed' would",
                    about: "lane \(lane.name)")
            }
            for symbol in Set(lane.marks.map(\.symbol)) where symbol != "!" {
                let claims = lane.marks.filter { $0.symbol == symbol }
                let line = scenario.claims.first { $0.claimant == lane.name && $0.symbol == symbol }
                guard line?.verdicts.count == claims.count else {
                    throw error(
                        "'\(lane.name)' claims \(symbol) \(claims.count) times, \(line?.verdicts.count ?? 0) verdicts are given",
                        about: "lane \(lane.name)")
                }
                if let published = scenario.publication(of: symbol), claims[0].column < published {
                    throw error("'\(lane.name)' claims \(symbol) before it is published", about: "lane \(lane.name)")
                }
            }
        }
        for line in scenario.claims
        where scenario.lane(line.claimant)?.marks.contains(where: { $0.symbol == line.symbol }) != true {
            throw error(
                "no lane has \(line.claimant) claim \(line.symbol)", about: "\(line.claimant) claims \(line.symbol)")
        }
    }

    private func checkSeries() throws(ScenarioError) {
        for event in scenario.events where event.series != nil {
            let about = "event \(event.symbol)"
            guard scenario.fate(of: event.symbol) != nil else {
                throw error(
                    "a series needs a line such as 'each \(event.symbol) shown after 100ms, 1 to a banner'",
                    about: about)
            }
            for lane in scenario.lanes where lane.role != .publisher {
                guard lane.marks.contains(where: { $0.symbol == event.symbol }) else { continue }
                throw error(
                    "a series is spoken of as a whole; it cannot stand in the lane '\(lane.name)'", about: about)
            }
        }
    }

    private func checkAttributes() throws(ScenarioError) {
        for route in scenario.routes {
            for attribute in route.attributes where !Scenario.RouteLine.keys.contains(attribute.name) {
                let keys = Scenario.RouteLine.keys.joined(separator: ", ")
                throw error("'\(attribute.name)' is none of \(keys)", about: "route \(route.pattern)")
            }
        }
        for event in scenario.events {
            for attribute in event.options where !Scenario.EventLine.keys.contains(attribute.name) {
                let keys = Scenario.EventLine.keys.joined(separator: ", ")
                throw error("'\(attribute.name)' is none of \(keys)", about: "event \(event.symbol)")
            }
        }
    }
}

extension Scenario.RouteLine {
    static let keys = ["banner", "coalesce", "max_window", "retain", "ttl", "window"]
}

extension Scenario.EventLine {
    static let keys = ["banner", "event-id", "retain", "source", "ttl", "window"]
}

extension Scenario.Remark {
    var symbols: [Symbol] {
        switch self {
        case .counts(let symbol, _), .refused(let symbol, _), .undecided(let symbol), .each(let symbol, _): [symbol]
        case .repeats(let symbol, let first): [symbol, first]
        }
    }
}

extension Scenario {
    /// The column in which an event is published.
    func publication(of symbol: Symbol) -> Int? {
        lanes.filter { $0.role == .publisher }.flatMap(\.marks).first { $0.symbol == symbol }?.column
    }

    func fate(of symbol: Symbol) -> SeriesFate? {
        for case .each(symbol, let fate) in remarks { return fate }
        return nil
    }

    /// How many events a banner stands for where it speaks of this one.
    func count(of symbol: Symbol) -> Int {
        for case .counts(symbol, let count) in remarks { return count }
        return 1
    }
}
