import NotifyClient
import NotifyJSON

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
        let health = Activity.Health(properties, screens, owners.programs)
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

extension Activity.Health {
    init(_ properties: [String: Value], _ screens: [ListedScreen], _ programs: [String: String]) {
        self.init(
            version: properties["Version"]?.string ?? "", isPaused: properties["Paused"]?.boolean ?? false,
            quiet: Quiet.list(properties["Quiet"]), degradation: properties["Degraded"]?.string ?? "",
            pending: properties["Pending"]?.integer() ?? 0,
            statistics: (properties["Statistics"]?.entries ?? [:]).compactMapValues { $0.integer() }, screens: screens,
            programs: programs)
    }
}
