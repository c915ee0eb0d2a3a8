extension Scenario {
    /// A scenario with random inputs. Its only expectation is that no invariant is violated.
    public static func random(seed: UInt64) -> Scenario {
        var generator = SplitMix64(seed: seed)
        var scenario = Scenario(title: "Whatever happens with seed \(seed), every promise is kept")
        scenario.settings.maximumPerSecond = [0, 0, 2].randomElement(using: &generator)!
        scenario.routes = [
            RouteLine(pattern: "/feed/{id}", attributes: [Attribute(name: "coalesce", value: .word("route"))]),
            RouteLine(pattern: "/single/{id}", attributes: [Attribute(name: "coalesce", value: .word("none"))]),
            RouteLine(
                pattern: "/short/{id}",
                attributes: [Attribute(name: "max_window", value: .duration(.milliseconds(130)))]),
        ]
        scenario.routes.append(
            RouteLine(pattern: "/ask/{id}", attributes: [Attribute(name: "wait", value: .word("screens"))]))
        var lanes = RandomLanes(using: &generator)
        for symbol in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR".prefix(lanes.pick(1...44)) {
            scenario.events.append(EventLine.random(symbol, using: &lanes.generator))
            lanes.addEvent(symbol)
        }
        lanes.addScreens("WXYZ", to: &scenario)
        lanes.addTopics("STUV", to: &scenario)
        lanes.addConditions()
        lanes.addLeaving()
        scenario.lanes = lanes.all
        scenario.screens.removeAll { screen in
            !scenario.lanes.contains { if case .screen(screen.symbol, _) = $0.role { true } else { false } }
        }
        scenario.answers = lanes.holds
        return scenario
    }
}

extension Scenario.EventLine {
    fileprivate static func random(_ symbol: Symbol, using generator: inout SplitMix64) -> Scenario.EventLine {
        let kind = ["/post", "/post", "/feed", "/single", "/short", "/other", "/ask"].randomElement(using: &generator)!
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
