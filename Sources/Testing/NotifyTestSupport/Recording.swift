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
