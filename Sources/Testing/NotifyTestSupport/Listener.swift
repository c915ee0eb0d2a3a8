package import NotifyClient
package import NotifyRehearsal

/// A subscriber to all signals of the daemon, which records when each one arrived.
package final class Listener: Sendable {
    package enum Word: Sendable {
        case event(id: UInt64, window: Duration?)
        case resolved(id: UInt64, outcome: String, banner: UInt32?, count: Int?)
        case action(id: UInt64)
    }

    package struct Heard: Sendable {
        package let word: Word
        package let arrival: ContinuousClock.Instant
    }

    package let heard: Mailbox<Heard>
    private let connection: Connection

    package init(on bus: PrivateBus) async throws {
        let heard = Mailbox<Heard>()
        self.heard = heard
        connection = try await Connection.open(
            bus.address,
            onSignal: { message in
                let arrival = ContinuousClock.now
                guard let word = Word(message) else { return }
                heard.put(Heard(word: word, arrival: arrival))
            })
        try await connection.addMatch(MatchRule(interface: Router.interface))
    }

    package func close() { connection.close() }

    /// The number of undecided events. All earlier signals have been received when this returns.
    package func pending() async throws -> Int {
        try await connection.call(.toProperties("Get", ["Pending"])).arguments.first?.integer() ?? -1
    }
}

extension Listener.Word {
    init?(_ message: Message) {
        let arguments = message.arguments
        guard message.interface == Router.interface, arguments.count >= 3, case .uint64(let id) = arguments[1] else {
            return nil
        }
        switch message.member {
        case "Event":
            let window = arguments.last?.entries?["window"]?.integer(as: UInt32.self)
            self = .event(id: id, window: window.map { .milliseconds($0) })
        case "Resolved":
            let details = arguments.last?.entries ?? [:]
            self = .resolved(
                id: id, outcome: arguments[2].string ?? "", banner: details["banner"]?.integer(),
                count: details["count"]?.integer())
        case "ActionInvoked":
            self = .action(id: id)
        default:
            return nil
        }
    }
}

extension Listener {
    private static let patience: Duration = .seconds(5)

    package func event(_ id: UInt64) async -> Heard? {
        await heard.next(within: Self.patience) { if case .event(id, _) = $0.word { true } else { false } }
    }

    /// Waits for an event's next outcome; `nil` when it does not come.
    package func resolution(of id: EventID) async -> (outcome: String, banner: UInt32?, count: Int?)? {
        let word = await heard.next(within: Self.patience) {
            if case .resolved(id.rawValue, _, _, _) = $0.word { true } else { false }
        }
        guard case .resolved(_, let outcome, let banner, let count)? = word?.word else { return nil }
        return (outcome, banner, count)
    }
}

public struct Recording: Sendable {
    /// An output in a lane of expectation.
    public struct Happening: Equatable, Sendable {
        public var lane: String
        public var occurrence: Occurrence
        public var at: Duration
        /// Events behind the banner, where the happening is a banner or its update.
        public var count: Int?
    }

    public struct Answer: Equatable, Sendable {
        public var actor: String
        public var verb: Verb
        public var symbol: Symbol
        public var text: String
    }

    public var happenings: [Happening] = []
    public var answers: [Answer] = []
    /// When each event was published; in real time the moment before the call.
    public var published: [Occurrence: Duration] = [:]
    public var refusals: [Symbol: String] = [:]
    /// Events that got the id of an earlier one.
    public var repeats: [Symbol: Symbol] = [:]
    public var undecided: Set<Occurrence> = []
    /// Violated invariants, independent of the scenario.
    public var faults: [String] = []

    mutating func note(_ lane: String, _ occurrence: Occurrence, at: Duration, count: Int? = nil) {
        happenings.append(Happening(lane: lane, occurrence: occurrence, at: at, count: count))
    }
}

/// The distribution of measured times.
package struct LatencyDistribution: CustomStringConvertible {
    private let sorted: [Duration]

    package init?(_ durations: [Duration]) {
        guard !durations.isEmpty else { return nil }
        sorted = durations.sorted()
    }

    package var minimum: Duration { sorted[0] }
    package var maximum: Duration { sorted[sorted.count - 1] }

    package func percentile(_ percent: Int) -> Duration {
        sorted[max(0, (sorted.count * percent + 99) / 100 - 1)]
    }

    package var description: String {
        if sorted.count == 1 { return minimum.milliseconds }
        return "\(minimum.milliseconds) to \(maximum.milliseconds) (p50 \(percentile(50).milliseconds), "
            + "p99 \(percentile(99).milliseconds), \(sorted.count) of them)"
    }
}

extension Scenario {
    /// The delays of banners in a recording.
    package func spread(in recording: Recording) -> LatencyDistribution? {
        var due: [String: [Duration]] = [:]
        for name in ["banner", "update"] {
            for mark in lane(name)?.marks ?? [] {
                due["\(name) \(mark.symbol)", default: []].append(settings.step * mark.column)
            }
        }
        var lateness: [Duration] = []
        for happening in recording.happenings {
            let key = "\(happening.lane) \(happening.occurrence.symbol)"
            if due[key]?.isEmpty == false { lateness.append(happening.at - due[key]!.removeFirst()) }
            if case .after(let length)? = fate(of: happening.occurrence.symbol)?.delay,
                happening.lane == "banner", let published = recording.published[happening.occurrence]
            {
                lateness.append(happening.at - published - length)
            }
        }
        return LatencyDistribution(lateness)
    }
}
