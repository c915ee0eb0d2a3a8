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

/// Something that is done to the daemon at a moment of the scenario.
struct Cue: Sendable {
    enum Act: Sendable {
        case publish(Occurrence, by: String)
        case claim(Symbol, by: String)
        case claimUnknown(by: String)
        case leave(String)
        case server(Lane.ServerMood)
        case user(Lane.UserAct, Symbol)
    }

    let at: Duration
    let act: Act
}

extension Scenario {
    /// Everything that is done, in order: by time, and within a column by lanes from the top.
    ///
    /// - Parameter seriesLimit: plays only so many events of a series.
    func cues(seriesLimit: Int? = nil) -> [Cue] {
        var cues: [Cue] = []
        for lane in lanes {
            for mark in lane.marks {
                let at = settings.step * mark.column
                switch lane.role {
                case .publisher where mark.symbol == "!", .claimant where mark.symbol == "!":
                    cues.append(Cue(at: at, act: .leave(lane.name)))
                case .publisher:
                    for number in 1...length(of: mark.symbol, limit: seriesLimit) {
                        let apart = event(mark.symbol)?.series?.apart ?? .zero
                        cues.append(
                            Cue(
                                at: at + apart * (number - 1),
                                act: .publish(Occurrence(mark.symbol, number), by: lane.name)))
                    }
                case .claimant where mark.symbol == "?":
                    cues.append(Cue(at: at, act: .claimUnknown(by: lane.name)))
                case .claimant:
                    cues.append(Cue(at: at, act: .claim(mark.symbol, by: lane.name)))
                case .server:
                    cues.append(Cue(at: at, act: .server(Lane.ServerMood(rawValue: mark.symbol)!)))
                case .user(let act):
                    cues.append(Cue(at: at, act: .user(act, mark.symbol)))
                case .expectation:
                    break
                }
            }
        }
        return cues.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    /// How many events a letter stands for.
    func length(of symbol: Symbol, limit: Int?) -> Int {
        guard let series = event(symbol)?.series else { return 1 }
        return min(series.count, limit ?? series.count)
    }

    /// Whether the notification server is there from the beginning: only where no lane speaks of it.
    var startsWithServer: Bool { lane("server") == nil }

    /// When the last thing is done or expected.
    func end(seriesLimit: Int? = nil) -> Duration {
        let drawn = settings.step * (lanes.flatMap(\.marks).map(\.column).max() ?? 0)
        return max(drawn, cues(seriesLimit: seriesLimit).last?.at ?? .zero)
    }
}

extension Scenario.EventLine {
    func topic(_ number: Int) -> String {
        guard let range = topic.firstRange(of: "{n}") else { return topic }
        return topic.replacingCharacters(in: range, with: "\(number)")
    }

    /// The text by which a banner is recognised as this event's.
    static func body(_ occurrence: Occurrence) -> String { "event \(occurrence)" }
}

extension String {
    fileprivate func replacingCharacters(in range: Range<Index>, with text: String) -> String {
        var copy = self
        copy.replaceSubrange(range, with: text)
        return copy
    }
}
