/// Validates a parsed scenario: every letter in the picture must be declared, and every declared letter must be used.
struct ScenarioCheck {
    let scenario: Scenario
    let file: String
    let places: [String: LineReader]

    func run() throws(ScenarioError) {
        try checkSymbols()
        try checkPublishing()
        try checkActors()
        try checkScreens()
        try checkConditions()
        try checkSeries()
        try checkAttributes()
    }

    func error(_ reason: String, about thing: String) -> ScenarioError {
        places[thing]?.error(reason) ?? ScenarioError(file: file, line: 1, column: 1, reason: reason)
    }

    private func checkSymbols() throws(ScenarioError) {
        for lane in scenario.lanes where lane.role.hasLetters {
            for mark in lane.marks where mark.symbol.isSymbol { try check(mark.symbol, in: lane) }
        }
        for remark in scenario.remarks {
            for symbol in remark.symbols where scenario.event(symbol) == nil {
                throw error("a line speaks of \(symbol), but none says '\(symbol) = …'", about: "")
            }
        }
    }

    private func check(_ symbol: Symbol, in lane: Lane) throws(ScenarioError) {
        let about = "lane \(lane.name)"
        guard let kind = Kind(symbol, scenario) else {
            throw error("the lane has \(symbol), but no line says '\(symbol) = …'", about: about)
        }
        guard lane.role.kinds.contains(kind) else {
            let wanted = lane.role.kinds.map(\.rawValue).joined(separator: " or ")
            throw error("the lane has \(symbol), which is \(kind.rawValue); here \(wanted) is expected", about: about)
        }
    }

    /// What a letter can stand for.
    enum Kind: String {
        case event = "an event"
        case screen = "a screen"
        case topic = "a topic"

        init?(_ symbol: Symbol, _ scenario: Scenario) {
            if scenario.event(symbol) != nil {
                self = .event
            } else if scenario.screen(symbol) != nil {
                self = .screen
            } else if scenario.topic(symbol) != nil {
                self = .topic
            } else {
                return nil
            }
        }
    }

    private func checkPublishing() throws(ScenarioError) {
        for event in scenario.events {
            let times = scenario.lanes.filter(\.publishes).flatMap(\.marks).filter { $0.symbol == event.symbol }
            guard times.count == 1 else {
                throw error(
                    "\(event.symbol) is published \(times.count) times; a letter is one event",
                    about: "letter \(event.symbol)")
            }
        }
    }

    private func checkSeries() throws(ScenarioError) {
        for event in scenario.events where event.series != nil {
            let about = "letter \(event.symbol)"
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
            try check(route.attributes, Scenario.RouteLine.keys, about: "route \(route.pattern)")
        }
        for event in scenario.events {
            try check(event.options, Scenario.EventLine.keys, about: "letter \(event.symbol)")
        }
        for screen in scenario.screens {
            try check(screen.options, Scenario.ScreenLine.keys, about: "letter \(screen.symbol)")
            for change in screen.changes {
                try check(change.options, Scenario.ScreenLine.keys, about: "\(screen.symbol) at \(change.digit)")
            }
        }
    }

    private func check(_ attributes: [Attribute], _ keys: [String], about thing: String) throws(ScenarioError) {
        for attribute in attributes {
            guard keys.contains(attribute.name) else {
                throw error("'\(attribute.name)' is none of \(keys.joined(separator: ", "))", about: thing)
            }
            if attribute.name == "lease", !attribute.value.isWholeSeconds {
                throw error("a lease is a whole number of seconds, such as 2s", about: thing)
            }
        }
    }
}

extension Scenario.RouteLine {
    static let keys = ["banner", "break_through", "coalesce", "max_window", "retain", "ttl", "wait", "window"]
}

extension Scenario.EventLine {
    static let keys = ["banner", "collapse", "event-id", "own-banner", "retain", "source", "ttl", "window"]
}

extension Scenario.ScreenLine {
    static let keys = ["clear", "lease", "mode", "state"]
}

extension Attribute.Scalar {
    fileprivate var isWholeSeconds: Bool {
        if case .duration(let length) = self { length.isWholeSeconds } else { false }
    }
}

extension Duration {
    /// The bus has no smaller unit for leases and mutes.
    var isWholeSeconds: Bool { components.attoseconds == 0 }
}

extension Lane {
    /// Whether an event is published where its letter stands.
    fileprivate var publishes: Bool { role == .publisher || name == Self.digest }
}

extension Lane.Role {
    /// What letters in the lane may stand for.
    fileprivate var kinds: [ScenarioCheck.Kind] {
        switch self {
        case .actor(_, .claims): [.event, .topic]
        case .actor(_, .updates), .actor(_, .closes): [.screen]
        case .publisher, .actor, .user, .expectation: [.event]
        case .mute: [.topic]
        case .screen, .server, .condition: []
        }
    }
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
        lanes.filter(\.publishes).flatMap(\.marks).first { $0.symbol == symbol }?.column
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
