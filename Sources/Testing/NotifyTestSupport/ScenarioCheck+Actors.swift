/// Validates the actions of actors: every call has a reply, and no action comes before it is possible.
extension ScenarioCheck {
    func checkActors() throws(ScenarioError) {
        for lane in scenario.lanes {
            guard case .actor(let actor, let verb) = lane.role else { continue }
            try checkName(of: lane, actor)
            for symbol in Set(lane.marks.map(\.symbol)).subtracting([Lane.leaving, Lane.killing]).sorted() {
                try checkCalls(of: actor, verb, symbol, in: lane)
            }
        }
        for line in scenario.answers {
            let call = "\(line.actor) \(line.verb) \(line.symbol)"
            guard scenario.calls(of: line.actor, line.verb, line.symbol) > 0 else {
                throw error("no lane has '\(call)'", about: call)
            }
            let isOfTopic = scenario.topic(line.symbol) != nil
            for answer in line.answers where answer != "LimitExceeded" && (Int(answer) != nil) != isOfTopic {
                throw error("an event is claimed with a verdict, a topic with a number of events", about: call)
            }
        }
    }

    /// A name that occurs once and is given no answer is a mistyped one.
    private func checkName(of lane: Lane, _ actor: String) throws(ScenarioError) {
        let isKnown =
            scenario.answers.contains { $0.actor == actor }
            || scenario.lanes.contains { $0.name != lane.name && $0.role.program(inLane: $0.name) == actor }
            || lane.name != actor
        guard !isKnown else { return }
        let names =
            Lane.expectations + Lane.UserAction.allCases.map(\.rawValue) + Lane.Condition.allCases.map(\.rawValue)
            + ["mute", "unmute", "publisher", "server"]
        throw error(
            "'\(lane.name)' is not a lane of \(names.joined(separator: ", ")), and no line says what it is answered, "
                + "as '\(lane.name) claims a: suppressed' would",
            about: "lane \(lane.name)")
    }

    private func checkCalls(
        of actor: String, _ verb: Verb, _ symbol: Symbol, in lane: Lane
    ) throws(ScenarioError) {
        let marks = lane.marks.filter { $0.symbol == symbol }
        let line = scenario.answers.first { $0.actor == actor && $0.verb == verb && $0.symbol == symbol }
        guard line == nil && verb.isUsuallyDone || line?.answers.count == scenario.calls(of: actor, verb, symbol) else {
            throw error(
                "'\(actor)' \(verb) \(symbol) \(marks.count) times, \(line?.answers.count ?? 0) answers are given",
                about: "lane \(lane.name)")
        }
        let thing = scenario.screen(symbol) == nil ? "published" : "opened"
        if let beginning = scenario.beginning(of: symbol), marks[0].column < beginning {
            throw error("'\(actor)' \(verb) \(symbol) before it is \(thing)", about: "lane \(lane.name)")
        }
    }

    // MARK: Screens and conditions

    func checkScreens() throws(ScenarioError) {
        for screen in scenario.screens {
            let about = "letter \(screen.symbol)"
            let lanes = scenario.lanes.filter {
                if case .screen(screen.symbol, _) = $0.role { true } else { false }
            }
            guard lanes.count == 1, let marks = lanes.first?.marks.map(\.symbol) else {
                throw error("a screen has one lane, such as \"phone's \(screen.symbol)\"", about: about)
            }
            guard marks.first == "[", marks.count(where: { $0 == "[" }) == 1,
                marks.dropLast().allSatisfy({ $0 != "]" })
            else {
                throw error("a screen is opened once, with '[', and closed once at most, with ']'", about: about)
            }
            for digit in marks.filter(\.isNumber) where !screen.changes.contains(where: { $0.digit == digit }) {
                throw error("no line says '\(screen.symbol) at \(digit): …'", about: "lane \(lanes[0].name)")
            }
        }
        for lane in scenario.lanes {
            guard case .screen(let symbol, _) = lane.role, scenario.screen(symbol) == nil else { continue }
            throw error("no line says '\(symbol) = screen on …'", about: "lane \(lane.name)")
        }
    }

    func checkConditions() throws(ScenarioError) {
        for lane in scenario.lanes {
            let about = "lane \(lane.name)"
            switch lane.role {
            case .condition(let condition):
                for (index, mark) in lane.marks.enumerated() where mark.symbol != (index % 2 == 0 ? "[" : "]") {
                    throw error("'[' and ']' take turns", about: about)
                }
                if condition != .paused, scenario.settings.virtualOnly == nil {
                    throw error("a scenario with a locked session or a schedule is 'virtual only: …'", about: about)
                }
            case .mute(true):
                for mark in lane.marks where scenario.topic(mark.symbol)?.time?.isWholeSeconds != true {
                    throw error("a topic is muted for whole seconds, such as 2s", about: about)
                }
            default: continue
            }
        }
    }
}

extension Scenario {
    /// How many calls of a kind the lanes have.
    fileprivate func calls(of actor: String, _ verb: Verb, _ symbol: Symbol) -> Int {
        lanes.filter { $0.role == .actor(actor, verb) }.flatMap(\.marks).count { $0.symbol == symbol }
    }

    /// The column before which nothing can be done about an event or a screen.
    fileprivate func beginning(of symbol: Symbol) -> Int? {
        if let published = publication(of: symbol) { return published }
        return lanes.first { if case .screen(symbol, _) = $0.role { true } else { false } }?.marks.first?.column
    }
}
