import NotifyClient
import NotifyText

/// What goes on at the daemon, as far as its signals and its answers tell.
///
/// Nothing here asks, waits or looks at a clock: times are arguments, counted from any start that is the same for all.
struct Activity: Sendable {
    /// The events of a topic whose windows are open, or that wait for a notification server.
    struct Window: Hashable, Sendable {
        let topic: String
        fileprivate(set) var events: Set<EventID> = []
        /// When the last of them ends.
        fileprivate(set) var deadline: Duration
        /// How long it is in all.
        fileprivate(set) var length: Duration
        /// The daemon was asked: the window is over, and there is still no outcome.
        fileprivate(set) var isWaiting = false
        /// When the daemon was last asked.
        fileprivate var asked: Duration?

        func left(at now: Duration) -> Duration { max(.zero, deadline - now) }
    }

    /// An outcome, and when it came.
    struct Decision: Hashable, Sendable {
        let outcome: Outcome
        let time: Duration
    }

    /// What the daemon answers when it is asked how it is.
    struct Health: Sendable {
        var version = ""
        var isPaused = false
        var quiet: [Quiet] = []
        var degradation = ""
        var pending = 0
        var statistics: [String: UInt64] = [:]
        var screens: [ListedScreen] = []
    }

    /// How many decisions are remembered.
    static let memory = 100
    private static let rememberedLatencies = 1000
    /// How late the news of an outcome may be before the daemon is asked for it.
    private static let patience = Duration.milliseconds(300)
    /// How long an answer holds that there is none.
    private static let rest = Duration.seconds(10)

    private var windowsByTopic: [ByteString: Window] = [:]
    /// The newest first.
    private(set) var decisions: [Decision] = []
    /// `nil` without a daemon.
    private(set) var health: Health?
    private var counts = Rates()
    private var recentLatencies: [Duration] = []

    /// Those that end soonest first, and last what is over.
    func windows(at now: Duration) -> [Window] {
        windowsByTopic.values.sorted { left, right in
            let (leftIsOver, rightIsOver) = (left.deadline <= now, right.deadline <= now)
            if leftIsOver != rightIsOver { return rightIsOver }
            return (left.deadline, left.topic) < (right.deadline, right.topic)
        }
    }

    var latencies: Latencies { Latencies(recentLatencies) }

    /// `nil` until the daemon was asked twice.
    var rates: Rates.PerSecond? { counts.perSecond }

    /// Whether a window is open whose end can be seen coming.
    func isCountingDown(at now: Duration) -> Bool { windowsByTopic.values.contains { $0.deadline > now } }

    // MARK: What is heard

    mutating func hear(_ event: Event, at now: Duration) {
        // Where no banner is pending there is nothing to wait for.
        guard let left = event.window, left > .zero else { return }
        open(event.id, at: event.topic, until: now + left, length: left)
    }

    mutating func hear(_ outcome: Outcome, at now: Duration) {
        close(outcome.id, at: outcome.topic)
        // An answer of the daemon may have said the same already.
        guard !decisions.contains(where: { $0.outcome.id == outcome.id && $0.outcome.kind == outcome.kind }) else {
            return
        }
        let index = decisions.firstIndex { $0.time <= now } ?? decisions.endIndex
        decisions.insert(Decision(outcome: outcome, time: now), at: index)
        if decisions.count > Self.memory { decisions.removeLast() }
        guard let latency = outcome.latency,
            Explanation.Claim.isAnswer(outcome.form ?? "Claim", after: latency)
        else { return }
        recentLatencies.append(latency)
        if recentLatencies.count > Self.rememberedLatencies { recentLatencies.removeFirst() }
    }

    // MARK: What is answered

    mutating func take(_ health: Health, at now: Duration) {
        counts.note(health.statistics, at: now)
        self.health = health
    }

    /// The daemon is gone. What it had not decided it announces again when it is back.
    mutating func loseDaemon() {
        health = nil
        windowsByTopic = [:]
        counts = Rates()
    }

    /// What is known of an event that was not heard from its beginning.
    ///
    /// - Parameter epoch: 1970-01-01 00:00 UTC, in the count of `now`.
    mutating func take(_ explanation: Explanation, at now: Duration, epoch: Duration) {
        func time(_ moment: Int64?) -> Duration? { moment.map { epoch + .microseconds($0) } }
        if let outcome = Outcome(explanation) {
            hear(outcome, at: min(time(explanation.resolved) ?? now, now))
        } else {
            let deadline = time(explanation.deadline) ?? now
            open(explanation.id, at: explanation.topic, until: deadline, length: explanation.window)
            windowsByTopic[explanation.topic.bytes]?.isWaiting = deadline <= now
            windowsByTopic[explanation.topic.bytes]?.asked = now
        }
    }

    /// The daemon knows nothing of an event any more.
    mutating func forget(_ id: EventID) {
        for topic in windowsByTopic.keys { close(id, at: topic.description) }
    }

    /// One event of each window that should be over: an outcome was not heard, its window got longer by an event of
    /// another topic, or it waits for a notification server. First comes what was never asked about.
    func doubtful(at now: Duration) -> [EventID] {
        windowsByTopic.values
            .filter { $0.deadline + Self.patience < now && ($0.asked.map { $0 + Self.rest <= now } ?? true) }
            .compactMap { window in window.events.min().map { (window.asked ?? .zero, $0) } }
            .sorted { $0 < $1 }.map(\.1)
    }

    // MARK: Windows

    private mutating func open(_ id: EventID, at topic: String, until deadline: Duration, length: Duration) {
        var window = windowsByTopic[topic.bytes] ?? Window(topic: topic, deadline: deadline, length: length)
        window.events.insert(id)
        if deadline >= window.deadline {
            window.deadline = deadline
            window.length = length
            window.isWaiting = false
            window.asked = nil
        }
        windowsByTopic[topic.bytes] = window
    }

    private mutating func close(_ id: EventID, at topic: String) {
        guard windowsByTopic[topic.bytes]?.events.remove(id) != nil else { return }
        if windowsByTopic[topic.bytes]?.events.isEmpty == true { windowsByTopic[topic.bytes] = nil }
    }
}

extension Outcome {
    /// The outcome as a decision tells it; `nil` while there is none.
    init?(_ explanation: Explanation) {
        guard let kind = explanation.outcome else { return nil }
        let isByClaim = kind == .claimed || kind == .retracted
        let claim = isByClaim ? explanation.effectiveClaims.last { $0.verdict != .recorded } : nil
        self.init(
            id: explanation.id, topic: explanation.topic, kind: kind, by: claim?.by, latency: claim?.after,
            banner: explanation.banner, count: explanation.count, lateness: explanation.lateness,
            form: claim?.form, program: claim?.program)
    }
}
