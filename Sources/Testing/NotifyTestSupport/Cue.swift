/// One event of a scenario: a letter, and which of its series.
public struct Occurrence: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let symbol: Symbol
    /// From 1; always 1 where there is no series.
    public let number: Int

    public init(_ symbol: Symbol, _ number: Int = 1) {
        self.symbol = symbol
        self.number = number
    }

    public static func < (left: Occurrence, right: Occurrence) -> Bool {
        (left.symbol, left.number) < (right.symbol, right.number)
    }

    public var description: String { number == 1 ? "\(symbol)" : "\(symbol) \(number)" }
}

/// An input to the daemon at a time of the scenario.
struct Cue: Sendable {
    enum Act: Sendable {
        case publish(Occurrence, by: String)
        /// Does what a lane such as `phone holds` says, with an event, a screen or a topic.
        case call(Verb, Symbol, by: String)
        case openScreen(Symbol, by: String)
        case updateScreen(Symbol, [Attribute], by: String)
        case closeScreen(Symbol, by: String)
        case leave(String, isKilled: Bool)
        case server(Lane.ServerState)
        case user(Lane.UserAction, Symbol)
        case condition(Lane.Condition, Bool)
        case mute(Symbol)
        case unmute(Symbol)
    }

    let at: Duration
    let act: Act
}

extension Scenario {
    /// All inputs in order: by time, and within a column by lane from the top.
    ///
    /// - Parameter seriesLimit: plays only so many events of a series.
    func cues(seriesLimit: Int? = nil) -> [Cue] {
        var cues: [Cue] = []
        for lane in lanes {
            for mark in lane.marks {
                let at = settings.step * mark.column
                if lane.role == .publisher, let series = event(mark.symbol)?.series {
                    for number in 1...length(of: mark.symbol, limit: seriesLimit) {
                        let act = Cue.Act.publish(Occurrence(mark.symbol, number), by: lane.name)
                        cues.append(Cue(at: at + series.apart * (number - 1), act: act))
                    }
                } else if let act = act(of: mark.symbol, in: lane) {
                    cues.append(Cue(at: at, act: act))
                }
            }
        }
        return cues.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    private func act(of sign: Character, in lane: Lane) -> Cue.Act? {
        switch lane.role {
        case .publisher where sign == Lane.leaving: .leave(lane.name, isKilled: false)
        case .publisher: .publish(Occurrence(sign), by: lane.name)
        case .actor(let actor, _) where sign == Lane.leaving || sign == Lane.killing:
            .leave(actor, isKilled: sign == Lane.killing)
        case .actor(let actor, let verb): .call(verb, sign, by: actor)
        case .screen(let screen, let owner): act(of: sign, on: screen, by: owner)
        case .server: .server(Lane.ServerState(rawValue: sign)!)
        case .user(let act): .user(act, sign)
        case .condition(let condition): .condition(condition, sign == "[")
        case .mute(let isOn): isOn ? .mute(sign) : .unmute(sign)
        case .expectation: nil
        }
    }

    private func act(of sign: Character, on screen: Symbol, by owner: String) -> Cue.Act {
        guard let sign = Lane.ScreenSymbol(rawValue: sign) else {
            let change = self.screen(screen)?.changes.first { $0.digit == sign }
            return .updateScreen(screen, change?.options ?? [], by: owner)
        }
        return switch sign {
        case .opens: .openScreen(screen, by: owner)
        case .closes: .closeScreen(screen, by: owner)
        case .renews: .updateScreen(screen, [], by: owner)
        case .focused, .visible, .hidden:
            .updateScreen(screen, [Attribute(name: "state", value: .word("\(sign)"))], by: owner)
        }
    }

    /// How many events a letter stands for.
    func length(of symbol: Symbol, limit: Int?) -> Int {
        guard let series = event(symbol)?.series else { return 1 }
        return min(series.count, limit ?? series.count)
    }

    /// Every program that is on the bus, by its name, and whether it is ever killed.
    var programs: [String: Bool] {
        var programs: [String: Bool] = [:]
        for lane in lanes {
            guard let name = lane.role.program(inLane: lane.name) else { continue }
            programs[name] = programs[name] == true || lane.marks.contains { $0.symbol == Lane.killing }
        }
        return programs
    }

    /// Whether there is a notification server from the beginning: only if it has no lane.
    var startsWithServer: Bool { lane("server") == nil }

    func end(seriesLimit: Int? = nil) -> Duration {
        let drawn = settings.step * (lanes.flatMap(\.marks).map(\.column).max() ?? 0)
        return max(drawn, cues(seriesLimit: seriesLimit).last?.at ?? .zero)
    }
}

extension Scenario.EventLine {
    func topic(_ number: Int) -> String {
        topic.replacing("{n}", with: "\(number)", maxReplacements: 1)
    }

    /// The text that identifies the banner of this event.
    static func body(_ occurrence: Occurrence) -> String { "event \(occurrence)" }
}
