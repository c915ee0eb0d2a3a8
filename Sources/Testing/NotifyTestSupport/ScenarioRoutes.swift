public import Routing

/// Converts lines of a scenario to values of the router.
extension Scenario {
    /// The built-in routes as far as windows and banners go, and those of the scenario.
    public func routeTable() throws -> RouteTable {
        let window = settings.window
        var table = RouteTable(fallback: Route(pattern: nil, window: window))
        table.add(Route(pattern: try TopicPattern("/post/{id}"), window: window))
        var invitation = Appearance()
        invitation.actions = [
            Route.Action(key: "accept", label: "Join"), Route.Action(key: "decline", label: "Decline"),
        ]
        table.add(
            Route(
                pattern: try TopicPattern("/run/{session}/invite"), window: window, appearance: invitation,
                lifetime: .seconds(600), required: [("from", .string)]))
        table.add(Route(pattern: try TopicPattern("/run/{session}/mate/{mate}/finished"), window: window))
        table.add(
            Route(pattern: try TopicPattern("/run/{session}/mate/{mate}"), banner: false, retain: true, window: window))
        table.add(Route(pattern: try TopicPattern("/run/{session}/cancelled"), window: window))
        for line in routes { table.add(try line.route(window: window)) }
        return table
    }

    /// Whether the window of an event may end early because all screens have answered.
    func waitsForScreens(_ occurrence: Occurrence) -> Bool {
        guard let line = event(occurrence.symbol), let topic = try? Topic(line.topic(occurrence.number)),
            let routes = try? routeTable()
        else { return false }
        return routes.route(for: topic).wait == .screens
    }

    func screenSettings() throws -> ScreenSettings {
        guard let names = settings.suppressingStates else { return ScreenSettings() }
        let states = try names.map { name in
            guard let state = Screen.State(rawValue: name) else {
                throw StageError(description: "a screen cannot be \(name)")
            }
            return state
        }
        return ScreenSettings(suppressingStates: Set(states))
    }

    func publication(_ occurrence: Occurrence, sender: String) throws -> Publication {
        guard let line = event(occurrence.symbol) else {
            throw StageError(description: "no line says what \(occurrence.symbol) is")
        }
        var options: [Field] = []
        for option in line.options {
            let value: FieldValue =
                switch (option.name, option.value) {
                case ("ttl", .duration(let length)): .uint32(UInt32(length.components.seconds))
                case (_, .duration(let length)): .uint32(length.millisecondsRoundedUp)
                case (_, let scalar): scalar.value
                }
            options.append(Field(name: option.name, value: value))
        }
        return Publication(
            topic: try Topic(line.topic(occurrence.number)), title: "\(occurrence)", body: EventLine.body(occurrence),
            fields: line.fields.map { Field(name: $0.name, value: $0.value.value) },
            options: try PublishOptions(options), sender: sender)
    }
}

extension Scenario.RouteLine {
    func route(window standard: Duration) throws -> Route {
        var banner = true
        var retain = false
        var window = standard
        var maximumWindow: Duration?
        var wait = Route.Wait.anyone
        var coalescing = Route.Coalescing.topic
        var lifetime = Limits.defaultLifetime
        var breaksThrough = false
        for attribute in attributes {
            switch (attribute.name, attribute.value) {
            case ("banner", .flag(let flag)): banner = flag
            case ("break_through", .flag(let flag)): breaksThrough = flag
            case ("retain", .flag(let flag)): retain = flag
            case ("window", .duration(let length)): window = length
            case ("max_window", .duration(let length)): maximumWindow = length
            case ("ttl", .duration(let length)): lifetime = length
            case ("coalesce", .word(let word)) where Route.Coalescing(rawValue: word) != nil:
                coalescing = Route.Coalescing(rawValue: word)!
            case ("wait", .word(let word)) where Route.Wait(rawValue: word) != nil: wait = Route.Wait(rawValue: word)!
            default: throw StageError(description: "the route \(pattern) cannot have \(attribute)")
            }
        }
        return Route(
            pattern: try TopicPattern(pattern, allowsBelow: true), banner: banner, retain: retain, window: window,
            maximumWindow: maximumWindow, wait: wait, coalescing: coalescing, lifetime: lifetime,
            breaksThrough: breaksThrough)
    }
}

extension Attribute.Scalar {
    var value: FieldValue {
        switch self {
        case .text(let text), .word(let text): .string(text)
        case .integer(let number): .int64(number)
        case .flag(let flag): .boolean(flag)
        case .duration(let length): .uint32(length.millisecondsRoundedUp)
        }
    }
}
