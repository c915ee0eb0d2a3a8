import NotifyClient
import NotifyText

/// The state of the daemon, from its signals and replies.
///
/// It does no I/O and reads no clock: times are arguments, counted from any fixed start.
struct Activity: Sendable {
    struct Window: Hashable, Sendable {
        let topic: String
        fileprivate(set) var events: Set<EventID> = []
        fileprivate(set) var deadline: Duration
        fileprivate(set) var length: Duration
        /// Whether the window has ended without an outcome, according to the daemon.
        fileprivate(set) var isWaiting = false
        fileprivate var asked: Duration?

        func left(at now: Duration) -> Duration { max(.zero, deadline - now) }
    }

    struct Decision: Hashable, Sendable {
        let outcome: Outcome
        let time: Duration
    }

    struct Health: Sendable {
        /// Of the daemon.
        let properties: [String: Value]
        var screens: [ListedScreen] = []
        /// The programs of screen owners, by unique name.
        var programs: [String: String] = [:]
    }

    static let memory = 100
    /// How late an outcome may be announced before the daemon is asked for it.
    private static let patience = Duration.milliseconds(300)
    /// How long the reply “no outcome” is valid.
    private static let rest = Duration.seconds(10)

    private var windowsByTopic: [ByteString: Window] = [:]
    /// The newest first.
    private(set) var decisions: [Decision] = []
    /// `nil` if there is no daemon.
    private(set) var health: Health?
    /// Whether the daemon has answered, or it is known that it does not run.
    private(set) var isAsked = false
    private var counts = Rates()
    /// The newest answers in the order of arrival, as many as ``RecentClaims`` explains.
    private var answers: [RecentClaims.Answer] = []
    /// Undecided events from before a restart of the daemon. The latencies of their claims are not counted.
    private var replayed: Set<EventID> = []

    /// The windows that end first, and then those that have ended.
    func windows(at now: Duration) -> [Window] {
        windowsByTopic.values.sorted { left, right in
            let (leftIsOver, rightIsOver) = (left.deadline <= now, right.deadline <= now)
            if leftIsOver != rightIsOver { return rightIsOver }
            return (left.deadline, left.topic) < (right.deadline, right.topic)
        }
    }

    var latencies: Latencies { Latencies(answers.map(\.after)) }

    var recentClaims: RecentClaims { RecentClaims(answers) }

    /// `nil` before the second query.
    var rates: Rates.PerSecond? { counts.perSecond }

    func isCountingDown(at now: Duration) -> Bool { windowsByTopic.values.contains { $0.deadline > now } }

    // MARK: Signals

    mutating func receive(_ event: Event, at now: Duration) {
        // No banner is pending.
        guard let left = event.window, left > .zero else { return }
        if event.isReplayed { replayed.insert(event.id) }
        open(event.id, at: event.topic, until: now + left, length: left)
    }

    mutating func receive(_ outcome: Outcome, at now: Duration) {
        let window = close(outcome.id, at: outcome.topic)
        let isReplayed = replayed.remove(outcome.id) != nil
        // A reply of the daemon may have reported it already.
        guard !decisions.contains(where: { $0.outcome.id == outcome.id && $0.outcome.kind == outcome.kind }) else {
            return
        }
        let index = decisions.firstIndex { $0.time <= now } ?? decisions.endIndex
        decisions.insert(Decision(outcome: outcome, time: now), at: index)
        if decisions.count > Self.memory { decisions.removeLast() }
        guard !isReplayed, let by = outcome.by, let latency = outcome.latency,
            Explanation.Claim.isAnswer(outcome.form ?? "Claim", after: latency, window: window?.length),
            !answers.contains(where: { $0.id == outcome.id })
        else { return }
        answers.append(RecentClaims.Answer(id: outcome.id, by: by, after: latency, program: outcome.program))
        if answers.count > RecentClaims.explained { answers.removeFirst() }
    }

    // MARK: Replies

    mutating func take(_ health: Health, at now: Duration) {
        counts.note(health.properties.statistics, at: now)
        self.health = health
        isAsked = true
    }

    /// - Parameter past: the answers to the newest events, with those that were received as signals.
    mutating func take(_ past: [RecentClaims.Answer]) {
        let known = Set(past.map(\.id))
        answers = Array((past + answers.filter { !known.contains($0.id) }).suffix(RecentClaims.explained))
    }

    /// The daemon is gone. After its restart it announces undecided events again.
    mutating func loseDaemon() {
        health = nil
        isAsked = true
        windowsByTopic = [:]
        replayed = []
        counts = Rates()
    }

    /// Adds an event whose announcement was missed.
    ///
    /// - Parameter epoch: 1970-01-01 00:00 UTC, on the time scale of `now`.
    mutating func take(_ explanation: Explanation, at now: Duration, epoch: Duration) {
        func time(_ moment: Int64?) -> Duration? { moment.map { epoch + .microseconds($0) } }
        if explanation.isReplayed { replayed.insert(explanation.id) }
        if let outcome = Outcome(explanation) {
            receive(outcome, at: min(time(explanation.resolved) ?? now, now))
        } else {
            let deadline = time(explanation.deadline) ?? now
            open(explanation.id, at: explanation.topic, until: deadline, length: explanation.window)
            windowsByTopic[explanation.topic.bytes]?.isWaiting = deadline <= now
            windowsByTopic[explanation.topic.bytes]?.asked = now
        }
    }

    /// The daemon no longer knows an event.
    mutating func forget(_ id: EventID) {
        replayed.remove(id)
        for topic in windowsByTopic.keys { close(id, at: topic.description) }
    }

    /// One event of each window that should have ended: its outcome was missed, an event of another topic extended the
    /// window, or the event waits for a notification server. Events that were never queried come first.
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

    /// - Returns: the window in which the event was; `nil` if it had none, or none any more.
    @discardableResult
    private mutating func close(_ id: EventID, at topic: String) -> Window? {
        guard let window = windowsByTopic[topic.bytes], window.events.contains(id) else { return nil }
        windowsByTopic[topic.bytes]?.events.remove(id)
        if window.events.count == 1 { windowsByTopic[topic.bytes] = nil }
        return window
    }
}

extension Outcome {
    /// The outcome of an explained event; `nil` if it has none.
    init?(_ explanation: Explanation) {
        guard let kind = explanation.outcome else { return nil }
        let claim = explanation.decidingClaim
        self.init(id: explanation.id, topic: explanation.topic, kind: kind)
        (by, program, latency, form) = (claim?.by, claim?.program, claim?.after, claim?.form)
        (banner, count) = (explanation.banner, explanation.count)
        (lateness, delay) = (explanation.lateness, explanation.delay)
    }
}

extension Activity {
    func json(at now: Duration) -> JSON {
        let state = health.map { health in
            JSON.members([
                "version": health.properties.text("Version"), "paused": health.properties.flag("Paused"),
                "quiet": health.properties.quiet.map(\.json), "degraded": health.properties.text("Degraded"),
                "pending": health.properties.number("Pending") as UInt32,
            ])
        }
        return .object(
            JSON.members(["running": health != nil]) + (state ?? [])
                + JSON.members([
                    "windows": windows(at: now).map { $0.json(at: now) },
                    "screens": (health?.screens ?? []).map { $0.json(health?.programs ?? [:]) },
                    "outcomes": decisions.map { $0.json(at: now) }, "rates": rates?.json,
                    "ClaimLatency": recentClaims.flatJSON,
                ]))
    }
}

extension Activity.Window {
    fileprivate func json(at now: Duration) -> JSON {
        [
            "topic": topic, "events": events.sorted(), "window": JSON.milliseconds(length),
            "left": left(at: now), "waiting": isWaiting,
        ]
    }
}

extension Activity.Decision {
    fileprivate func json(at now: Duration) -> JSON {
        .object(
            [("id", .integer(outcome.id.rawValue)), ("topic", .string(outcome.topic))] + outcome.members
                + [("ago", (now - time).json)])
    }
}

extension Rates.PerSecond {
    fileprivate var json: JSON {
        [
            "events": JSON.number("\(events)"), "claimed": JSON.number("\(claimed)"),
            "banners": JSON.number("\(banners)"),
        ]
    }
}

/// Rates from the daemon's own counters, which include events whose signals were missed.
struct Rates: Sendable {
    struct PerSecond: Hashable, Sendable {
        var events: Double
        /// Events claimed in time.
        var claimed: Double
        /// Banners requested, including updates.
        var banners: Double
    }

    private static let counters = ["published", "claimed", "banner-calls"]
    private static let span = Duration.seconds(10)

    /// In order of time. At most the first one is older than the span.
    private var samples: [(time: Duration, counts: [UInt64])] = []

    mutating func note(_ statistics: [String: UInt64], at now: Duration) {
        let counts = Self.counters.map { statistics[$0] ?? 0 }
        // A restarted daemon counts from 0.
        if let last = samples.last, zip(counts, last.counts).contains(where: <) { samples = [] }
        samples.append((now, counts))
        while samples.count > 2, samples[1].time <= now - Self.span { samples.removeFirst() }
    }

    /// Over the last ten seconds, or since the first sample; `nil` before the second sample.
    var perSecond: PerSecond? {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return nil }
        let rates = zip(first.counts, last.counts).map { Double($1 - $0) / ((last.time - first.time) / .seconds(1)) }
        return PerSecond(events: rates[0], claimed: rates[1], banners: rates[2])
    }
}

/// Keeps an ``Activity`` up to date with signals and one query per second. It continues over restarts of the daemon and
/// does not start it.
final class ActivityFeed: Sendable {
    private static let period = Duration.seconds(1)
    /// How many past events are read when a daemon appears.
    private static let past = 1000
    private static let explainedDecisions = 30
    /// How many events with missed outcomes are queried in one period.
    private static let doubts = 16

    private let client: NotifyClient
    private let start = ContinuousClock.now
    private let state = Locked(Activity())
    private let owners = Locked(ScreenOwners())
    /// Rings after each change.
    let changes = Bell()

    init(_ client: NotifyClient) { self.client = client }

    /// The activity, and the current time on its time scale.
    var present: (activity: Activity, now: Duration) { (state.withLock { $0 }, now) }

    private var now: Duration { .now - start }

    // MARK: Queries

    /// Queries the state of the daemon.
    ///
    /// - Parameter isFirst: whether to read past events as well.
    /// - Throws: `notReachable` without a daemon.
    func ask(isFirst: Bool) async throws {
        let properties = try await client.properties()
        let screens = try await client.screens()
        var owners = owners.withLock { $0 }
        await owners.update(screens, client)
        self.owners.withLock { [owners] in $0 = owners }
        let health = Activity.Health(properties: properties, screens: screens, programs: owners.programs)
        let doubts = state.withLock { activity in
            activity.take(health, at: now)
            return activity.doubtful(at: now)
        }
        try await explain(isFirst ? try await unknown() : Array(doubts.prefix(Self.doubts)))
        if isFirst {
            let past = await RecentClaims.answers(client)
            state.withLock { $0.take(past) }
        }
        changes.ring()
    }

    /// Reads the events from before the subscription: undecided ones and the last outcomes.
    private func unknown() async throws -> [EventID] {
        let records = try await HistoryReader(client: client, topic: "/").last(Self.past)
        let decided = records.filter { $0.outcome != nil && $0.outcome != .silent }.suffix(Self.explainedDecisions)
        return (records.filter { $0.outcome == nil } + decided).map(\.event.id).sorted()
    }

    private func explain(_ ids: [EventID]) async throws {
        guard !ids.isEmpty else { return }
        let explanations = try await HistoryReader(client: client, topic: "/").explanations(of: ids)
        let now = now
        let epoch = now - .microseconds(Timestamp.now)
        state.withLock { activity in
            for explanation in explanations { activity.take(explanation, at: now, epoch: epoch) }
            for id in Set(ids).subtracting(explanations.map(\.id)) { activity.forget(id) }
        }
    }

    // MARK: Signals

    /// Subscribes and queries until the task is cancelled.
    ///
    /// - Throws: `closed`, and errors of the subscription.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Missed outcomes are queried when their window should have ended.
            group.addTask { [client] in
                try await listen(to: client.events, at: "/") { event in self.update { $0.receive(event, at: $1) } }
            }
            group.addTask { [client] in
                try await listen(to: client.outcomes, at: "/") { outcome in
                    self.update { $0.receive(outcome, at: $1) }
                }
            }
            group.addTask { await self.askAgainAndAgain() }
            try await group.waitForAll()
        }
    }

    private func update(_ change: (inout Activity, Duration) -> Void) {
        state.withLock { change(&$0, now) }
        changes.ring()
    }

    private func askAgainAndAgain() async {
        var isFirst = true
        while !Task.isCancelled {
            do {
                try await ask(isFirst: isFirst)
                isFirst = false
            } catch {
                state.withLock { $0.loseDaemon() }
                isFirst = true
                changes.ring()
            }
            try? await Task.sleep(for: Self.period)
        }
    }
}
