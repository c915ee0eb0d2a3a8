import NotifyClient

/// A scenario: one fact about the daemon, drawn as a picture of what happens when.
///
///     A claim within the window keeps the banner away
///
///     a = /post/27
///
///     ms         0         100
///     publisher  a----------
///     screen     ---a-------
///     claimed    ---a-------
///
///     screen claims a: suppressed
///
/// Every line of the picture is a lane, every character of it one step (10 ms unless `step` says otherwise). A letter
/// is an event, wherever it stands: published in a publisher's lane, claimed in a claimant's, and expected in the lanes
/// below. What is expected is complete: whatever happens and stands in no lane is a failure.
/// `Tests/Scenarios/README.md` describes all of the notation.
public struct Scenario: Equatable, Sendable {
    /// The fact, as a sentence.
    public var title: String
    public var settings = Settings()
    public var routes: [RouteLine] = []
    public var events: [EventLine] = []
    public var screens: [ScreenLine] = []
    public var topics: [TopicLine] = []
    public var lanes: [Lane] = []
    public var answers: [AnswerLine] = []
    public var remarks: [Remark] = []
}

extension Scenario {
    /// What the lines before the picture set.
    public struct Settings: Equatable, Sendable {
        /// What one character of a lane stands for.
        public var step: Duration = .milliseconds(10)
        /// The default window.
        public var window: Duration = .milliseconds(100)
        /// New banners that may appear within a second; 0 means no limit.
        public var maximumPerSecond = 0
        /// The states in which a screen suppresses banners, where they are not the usual ones.
        public var suppressingStates: [String]?
        /// Why the scenario cannot be played against the clock, where it cannot.
        public var virtualOnly: String?
        /// How many events of a series are played in real time.
        public var realTimeEvents: Int?
    }

    /// `route /quiet/{id} banner=false`: a route as a configuration has it.
    public struct RouteLine: Equatable, Sendable {
        public var pattern: String
        public var attributes: [Attribute]
    }

    /// `a = /post/27 {from="Mina"} window=0ms`: what a letter stands for.
    public struct EventLine: Equatable, Sendable {
        public var symbol: Symbol
        /// In a series `{n}` stands for the number of the event, from 1.
        public var topic: String
        public var fields: [Attribute] = []
        public var options: [Attribute] = []
        public var series: Series?
    }

    /// `667 times 90ms apart`: one letter for many events.
    public struct Series: Equatable, Sendable {
        public var count: Int
        public var apart: Duration
    }

    /// `s = screen on /post/27 mode=ask`: what the letter of a screen stands for.
    public struct ScreenLine: Equatable, Sendable {
        public var symbol: Symbol
        public var topic: String
        public var options: [Attribute] = []
        /// `s at 1: mode=auto`: what a digit in the screen's lane changes.
        public var changes: [ScreenChange] = []
    }

    public struct ScreenChange: Equatable, Sendable {
        public var digit: Character
        public var options: [Attribute]
    }

    /// `t = topic /post/27 for 100ms`: a topic to be claimed or muted, and for how long.
    public struct TopicLine: Equatable, Sendable {
        public var symbol: Symbol
        public var topic: String
        public var time: Duration?
    }

    /// `phone claims a: suppressed`: what an actor is answered, call by call.
    public struct AnswerLine: Equatable, Sendable {
        public var actor: String
        public var verb: Verb
        public var symbol: Symbol
        /// For how long it is held.
        public var time: Duration?
        public var answers: [String]
    }

    /// What is expected beside the lanes, in words.
    public enum Remark: Equatable, Sendable {
        /// `b counts 2`: the banner that speaks of b stands for two events. Where nothing is said it is one.
        case counts(Symbol, Int)
        /// `b repeats a`: b is recognised as a repeat and gets a's id.
        case repeats(Symbol, of: Symbol)
        /// `a is refused: InvalidEvent`.
        case refused(Symbol, String)
        /// `a stays undecided`.
        case undecided(Symbol)
        /// `each a shown after 100ms, 1 to a banner`: what becomes of every event of a series.
        case each(Symbol, SeriesFate)
    }

    /// What becomes of every event of a series.
    public struct SeriesFate: Equatable, Sendable {
        public enum Delay: Equatable, Sendable {
            /// Shown this long after it was published.
            case after(Duration)
            /// Shown no later than that.
            case within(Duration)
        }

        public var delay: Delay
        /// How many events each banner, or each update of it, adds; the last may add fewer.
        public var perBanner: Int
        /// Whether it is one banner that is updated, or a new banner each time.
        public var updated: Bool
    }
}

/// The letter of an event, a screen or a topic.
public typealias Symbol = Character

extension Scenario {
    public func event(_ symbol: Symbol) -> EventLine? {
        events.first { $0.symbol == symbol }
    }

    public func screen(_ symbol: Symbol) -> ScreenLine? {
        screens.first { $0.symbol == symbol }
    }

    public func topic(_ symbol: Symbol) -> TopicLine? {
        topics.first { $0.symbol == symbol }
    }

    public func lane(_ name: String) -> Lane? {
        lanes.first { $0.name == name }
    }

    /// Whether everything about this letter is said by an `each` remark rather than by the lanes.
    func isSeries(_ symbol: Symbol) -> Bool {
        event(symbol)?.series != nil
    }
}

extension Scenario {
    /// The scenario drawn wider: its times are multiplied, so that larger delays, of a slow program or of a busy
    /// machine, stay below one column. A scenario that depends on a time of the daemon's own, such as the number of
    /// banners in a second, is not changed.
    package func drawn(wider factor: Int) throws -> Scenario {
        guard factor > 1 else { return self }
        let stretched = stretched(by: factor)
        let recording = try VirtualStage.play(stretched)
        return Comparison.differences(between: stretched, and: recording).isEmpty ? stretched : self
    }

    private func stretched(by factor: Int) -> Scenario {
        var scenario = self
        scenario.settings.step *= factor
        scenario.settings.window *= factor
        scenario.routes.changeEach { $0.attributes.stretch(by: factor) }
        scenario.events.changeEach { event in
            event.options.stretch(by: factor)
            event.series?.apart *= factor
        }
        scenario.screens.changeEach { screen in
            screen.options.stretch(by: factor)
            screen.changes.changeEach { $0.options.stretch(by: factor) }
        }
        scenario.topics.changeEach { $0.time? *= factor }
        scenario.answers.changeEach { $0.time? *= factor }
        scenario.remarks.changeEach { remark in
            guard case .each(let symbol, var fate) = remark else { return }
            switch fate.delay {
            case .after(let length): fate.delay = .after(length * factor)
            case .within(let length): fate.delay = .within(length * factor)
            }
            remark = .each(symbol, fate)
        }
        return scenario
    }
}

extension Array {
    fileprivate mutating func changeEach(_ body: (inout Element) -> Void) {
        for index in indices { body(&self[index]) }
    }
}

extension [Attribute] {
    fileprivate mutating func stretch(by factor: Int) {
        changeEach { attribute in
            if case .duration(let length) = attribute.value { attribute.value = .duration(length * factor) }
        }
    }
}
