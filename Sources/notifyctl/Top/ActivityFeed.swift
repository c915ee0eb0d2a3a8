import NotifyClient

/// Keeps an ``Activity`` up to date, by listening and by asking once a second. It goes on over restarts of the daemon and
/// starts none.
final class ActivityFeed: Sendable {
    private static let period = Duration.seconds(1)
    /// How much of the past is looked at when a daemon is there.
    private static let past = 1000
    private static let explainedDecisions = 30
    /// How many events are asked about in one period, if something was not heard.
    private static let doubts = 16

    private let client: NotifyClient
    private let start = ContinuousClock.now
    private let state = Guarded(Activity())
    private let bell: AsyncStream<Void>
    private let rope: AsyncStream<Void>.Continuation

    init(_ client: NotifyClient) {
        self.client = client
        (bell, rope) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// What goes on, and the time in its count.
    var present: (activity: Activity, now: Duration) { (state.withLock { $0 }, now) }

    private var now: Duration { .now - start }

    /// Returns when something has happened since it was last asked, and at least once a period, as long as the feed runs.
    func news() async {
        for await _ in bell { return }
    }

    /// Makes `news` return.
    func ring() { rope.yield() }

    // MARK: Asking

    /// Asks how everything is.
    ///
    /// - Parameter isFirst: whether to look into the past as well.
    /// - Throws: `notReachable` without a daemon.
    func ask(isFirst: Bool) async throws {
        let properties = try await client.properties()
        let screens = try await client.screens()
        let health = Activity.Health(properties, screens)
        let doubts = state.withLock { activity in
            activity.take(health, at: now)
            return activity.doubtful(at: now)
        }
        try await explain(isFirst ? try await unknown() : Array(doubts.prefix(Self.doubts)))
        ring()
    }

    /// What was published before we listened, as far as it is of interest: what is undecided, and the last outcomes.
    private func unknown() async throws -> [EventID] {
        let records = try await Archive(client: client, topic: "/").last(Self.past)
        let decided = records.filter { $0.outcome != nil && $0.outcome != .silent }.suffix(Self.explainedDecisions)
        return (records.filter { $0.outcome == nil } + decided).map(\.event.id).sorted()
    }

    private func explain(_ ids: [EventID]) async throws {
        guard !ids.isEmpty else { return }
        let explanations = try await Archive(client: client, topic: "/").explanations(of: ids)
        let now = now
        let epoch = now - .microseconds(Moment.now)
        state.withLock { activity in
            for explanation in explanations { activity.take(explanation, at: now, epoch: epoch) }
            for id in Set(ids).subtracting(explanations.map(\.id)) { activity.forget(id) }
        }
    }

    // MARK: Listening

    /// Listens and asks until the task is cancelled.
    ///
    /// - Throws: `closed`, and what keeps it from listening at all.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await self.listen {
                    try await self.client.events(at: "/")
                } to: {
                    $0.hear($1, at: $2)
                }
            }
            group.addTask {
                try await self.listen {
                    try await self.client.outcomes(at: "/")
                } to: {
                    $0.hear($1, at: $2)
                }
            }
            group.addTask { await self.askAgainAndAgain() }
            try await group.waitForAll()
        }
    }

    private func listen<Element: Sendable>(
        _ subscribe: () async throws -> Subscription<Element>, to hear: (inout Activity, Element, Duration) -> Void
    ) async throws {
        while !Task.isCancelled {
            do {
                for try await element in try await subscribe() {
                    state.withLock { hear(&$0, element, now) }
                    ring()
                }
            } catch let error as NotifyError where error.code == .readerTooSlow {
                // What was missed is asked for when its window should be over.
            }
        }
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
                ring()
            }
            try? await Task.sleep(for: Self.period)
        }
    }
}

extension Activity.Health {
    init(_ properties: [String: Value], _ screens: [ListedScreen]) {
        self.init(
            version: properties["Version"]?.string ?? "", isPaused: properties["Paused"]?.boolean ?? false,
            quiet: Quiet.list(properties["Quiet"]), degradation: properties["Degraded"]?.string ?? "",
            pending: properties["Pending"]?.integer() ?? 0,
            statistics: (properties["Statistics"]?.entries ?? [:]).compactMapValues { $0.integer() }, screens: screens)
    }
}
