struct RandomLanes {
    private static let length = 150
    private static let actors = ["phone", "desktop"]
    private static let topics = ["/", "/post", "/post/1", "/feed/1", "/ask/1", "/other"]

    var generator: SplitMix64
    /// The duration of provisional claims.
    private(set) var holds: [Scenario.AnswerLine] = []
    private var marks: [String: [Lane.Mark]] = [:]

    init(using generator: inout SplitMix64) {
        self.generator = SplitMix64(seed: generator.next())
    }

    mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &generator)! }

    private mutating func happens(in chances: Int) -> Bool { pick(1...chances) == 1 }

    private mutating func put(_ symbol: Character, at column: Int, in lane: String) {
        marks[lane, default: []].append(Lane.Mark(column: column, symbol: symbol))
    }

    /// Publishers first: an event is claimed after it is published.
    var all: [Lane] {
        let names = marks.keys.sorted {
            (Lane.Role(laneNamed: $0) != .publisher ? 1 : 0, $0) < (Lane.Role(laneNamed: $1) != .publisher ? 1 : 0, $1)
        }
        return names.map { name in
            let sorted = marks[name]!.enumerated().sorted {
                ($0.element.column, $0.offset) < ($1.element.column, $1.offset)
            }
            return Lane(name: name, marks: sorted.map(\.element))
        }
    }

    // MARK: Events

    mutating func addEvent(_ symbol: Symbol) {
        let column = pick(0...Self.length - 1)
        put(symbol, at: column, in: "publisher-\(pick(1...2))")
        for actor in Self.actors {
            // Many claims are at the end of the window, or one step before or after.
            if happens(in: 3) { put(symbol, at: column + pick([10, 9, 11, pick(0...40)]), in: actor) }
            if happens(in: 3) { addHold(of: symbol, by: actor, at: column + pick([0, 3, 10, pick(0...40)])) }
            if happens(in: 4) { put(symbol, at: column + pick(0...12), in: "\(actor) passes") }
        }
        for act in Lane.UserAction.allCases where happens(in: 4) {
            put(symbol, at: column + pick(10...60), in: act.rawValue)
        }
    }

    private mutating func addHold(of symbol: Symbol, by actor: String, at column: Int) {
        put(symbol, at: column, in: "\(actor) holds")
        holds.append(
            Scenario.AnswerLine(
                actor: actor, verb: .holds, symbol: symbol, time: .milliseconds(pick([20, 70, 100, 300, 2000])),
                answers: []))
        for verb in [Verb.completes, .releases] where happens(in: 2) {
            // Sometimes another actor tries.
            let other = happens(in: 5) ? pick(Self.actors) : actor
            put(symbol, at: column + pick(0...40), in: "\(other) \(verb)")
        }
    }

    // MARK: Screens

    mutating func addScreens(_ symbols: String, to scenario: inout Scenario) {
        for symbol in symbols where happens(in: 2) {
            var line = Scenario.ScreenLine(symbol: symbol, topic: pick(Self.topics))
            if happens(in: 2) { line.options.append(Attribute(name: "mode", value: .word("ask"))) }
            if happens(in: 4) { line.options.append(Attribute(name: "state", value: .word("hidden"))) }
            if happens(in: 4) { line.options.append(Attribute(name: "lease", value: .duration(.seconds(1)))) }
            if happens(in: 4) { line.options.append(Attribute(name: "clear", value: .flag(false))) }
            line.changes = [
                Scenario.ScreenChange(digit: "1", options: [Attribute(name: "mode", value: .word("ask"))]),
                Scenario.ScreenChange(
                    digit: "2",
                    options: [
                        Attribute(name: "mode", value: .word("auto")), Attribute(name: "clear", value: .flag(true)),
                    ]),
            ]
            scenario.screens.append(line)
            let opened = pick(0...Self.length / 2)
            let lane = "\(pick(Self.actors))'s \(symbol)"
            put("[", at: opened, in: lane)
            let closed = opened + pick(20...80)
            for _ in 0..<pick(0...6) { put(pick(Array("fvh+12")), at: pick(opened + 1...closed - 1), in: lane) }
            if happens(in: 2) { put("]", at: closed, in: lane) }
            for verb in [Verb.updates, .closes] where happens(in: 6) {
                put(symbol, at: opened + pick(1...60), in: "\(pick(Self.actors)) \(verb)")
            }
        }
    }

    // MARK: Topics and conditions

    mutating func addTopics(_ symbols: String, to scenario: inout Scenario) {
        for symbol in symbols where happens(in: 2) {
            var line = Scenario.TopicLine(symbol: symbol, topic: pick(Self.topics))
            if happens(in: 2) {
                line.time = .seconds(1)
                put(symbol, at: pick(0...Self.length), in: "mute")
                if happens(in: 2) { put(symbol, at: pick(0...Self.length), in: "unmute") }
            } else {
                line.time = pick([nil, .milliseconds(100), .milliseconds(400)])
                put(symbol, at: pick(0...Self.length), in: pick(Self.actors))
            }
            scenario.topics.append(line)
        }
    }

    mutating func addConditions() {
        for condition in Lane.Condition.allCases where happens(in: 4) {
            var column = pick(0...Self.length / 2)
            for _ in 0..<pick(1...2) {
                put("[", at: column, in: condition.rawValue)
                put("]", at: column + pick(1...40), in: condition.rawValue)
                column += 60
            }
        }
        if happens(in: 2) {
            for _ in 0..<pick(1...12) {
                put(pick(Lane.ServerState.allCases).rawValue, at: pick(0...Self.length - 1), in: "server")
            }
        }
    }

    /// An actor that has left does nothing more.
    mutating func addLeaving() {
        for actor in Self.actors where happens(in: 3) {
            let column = pick(20...Self.length)
            for lane in marks.keys.sorted() where Lane.Role(laneNamed: lane).program(inLane: lane) == actor {
                marks[lane]!.removeAll { $0.column >= column }
                if marks[lane]!.isEmpty { marks[lane] = nil }
            }
            put(happens(in: 2) ? Lane.leaving : Lane.killing, at: column, in: actor)
        }
        // A screen that was never opened cannot be changed.
        let open = Set(
            marks.keys.compactMap { if case .screen(let screen, _) = Lane.Role(laneNamed: $0) { screen } else { nil } })
        for lane in marks.keys.sorted() {
            guard case .actor(_, let verb) = Lane.Role(laneNamed: lane), verb == .updates || verb == .closes else {
                continue
            }
            marks[lane]!.removeAll { !open.contains($0.symbol) }
            if marks[lane]!.isEmpty { marks[lane] = nil }
        }
    }
}
