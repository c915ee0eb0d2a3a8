/// Numbers that look random and are the same for the same seed: SplitMix64.
public struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    public init(seed: UInt64) {
        state = seed
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension Scenario {
    /// A scenario in which everything happens at random: nothing is expected of it but that no promise is broken.
    public static func random(seed: UInt64) -> Scenario {
        var generator = SeededGenerator(seed: seed)
        var scenario = Scenario(title: "Whatever happens with seed \(seed), every promise is kept")
        scenario.settings.maximumPerSecond = [0, 0, 2].randomElement(using: &generator)!
        scenario.routes = [
            RouteLine(pattern: "/feed/{id}", attributes: [Attribute(name: "coalesce", value: .word("route"))]),
            RouteLine(pattern: "/single/{id}", attributes: [Attribute(name: "coalesce", value: .word("none"))]),
            RouteLine(
                pattern: "/short/{id}",
                attributes: [Attribute(name: "max_window", value: .duration(.milliseconds(130)))]),
        ]
        let length = 150
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        var lanes: [String: [Lane.Mark]] = [:]
        for symbol in letters.prefix(Int.random(in: 1...letters.count, using: &generator)) {
            scenario.events.append(EventLine.random(symbol, using: &generator))
            let column = Int.random(in: 0..<length, using: &generator)
            lanes["publisher-\(Int.random(in: 1...2, using: &generator))", default: []].append(
                Lane.Mark(column: column, symbol: symbol))
            for claimant in ["phone", "desktop"] where Int.random(in: 0..<3, using: &generator) == 0 {
                // Many claims fall on the very moment the window ends, or on the one before or after.
                let delay = [10, 9, 11, Int.random(in: 0...40, using: &generator)].randomElement(using: &generator)!
                lanes[claimant, default: []].append(Lane.Mark(column: column + delay, symbol: symbol))
            }
            for act in Lane.UserAct.allCases where Int.random(in: 0..<4, using: &generator) == 0 {
                let delay = Int.random(in: 10...60, using: &generator)
                lanes[act.rawValue, default: []].append(Lane.Mark(column: column + delay, symbol: symbol))
            }
        }
        if Bool.random(using: &generator) {
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                let mood = Lane.ServerMood.allCases.randomElement(using: &generator)!
                lanes["server", default: []].append(
                    Lane.Mark(column: Int.random(in: 0..<length, using: &generator), symbol: mood.rawValue))
            }
        }
        // Publishers first: an event is claimed after it is published.
        let names = lanes.keys.sorted {
            (Lane.Role(laneNamed: $0) != .publisher ? 1 : 0, $0) < (Lane.Role(laneNamed: $1) != .publisher ? 1 : 0, $1)
        }
        scenario.lanes = names.map { name in
            let marks = lanes[name]!.enumerated().sorted {
                ($0.element.column, $0.offset) < ($1.element.column, $1.offset)
            }
            return Lane(name: name, marks: marks.map(\.element))
        }
        return scenario
    }
}

extension Scenario.EventLine {
    fileprivate static func random(_ symbol: Symbol, using generator: inout SeededGenerator) -> Scenario.EventLine {
        let kind = ["/post", "/post", "/feed", "/single", "/short", "/other"].randomElement(using: &generator)!
        var line = Scenario.EventLine(symbol: symbol, topic: "\(kind)/\(Int.random(in: 1...2, using: &generator))")
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: line.options = [Attribute(name: "window", value: .duration(.zero))]
        case 1: line.options = [Attribute(name: "window", value: .duration(.milliseconds(30)))]
        case 2: line.options = [Attribute(name: "ttl", value: .duration(.seconds(1)))]
        case 3: line.options = [Attribute(name: "banner", value: .flag(false))]
        default: break
        }
        return line
    }
}
