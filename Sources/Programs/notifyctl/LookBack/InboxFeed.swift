import NotifyClient

/// Keeps an ``InboxScreen`` up to date. Signals say what was decided; new events are read page by page, because only a
/// page has the text of their banners. It continues over restarts of the daemon and does not start it.
final class InboxFeed: Sendable {
    /// How often the daemon is asked without a signal: none tells that a muted or expired event was marked as read.
    private static let period = Duration.seconds(2)
    /// The shortest time between two pages.
    private static let pause = Duration.milliseconds(100)
    private static let pageSize = 500

    let client: NotifyClient
    let topic: String
    private let address: String
    private let screen = Locked(InboxScreen())
    private let isStale = Locked(true)
    /// Rings after each change of what is shown.
    let changes = Bell()
    private let orders = Bell()

    init(_ client: NotifyClient, _ topic: String, address: String) {
        self.client = client
        self.topic = topic
        self.address = address
        screen.withLock { $0.topic = topic }
    }

    /// Changes what is shown, and has it drawn.
    func update<Result>(_ change: (inout InboxScreen) -> Result) -> Result {
        defer { changes.ring() }
        return screen.withLock(change)
    }

    /// Draws without a change.
    func draw<Result>(_ draw: (inout InboxScreen) -> Result) -> Result { screen.withLock(draw) }

    /// Reads older events if the user comes near the last one.
    func loadIfNeeded() {
        if screen.withLock(\.list.isShort) { orders.ring() }
    }

    /// Reads the events again.
    func refresh() {
        isStale.withLock { $0 = true }
        orders.ring()
    }

    /// Subscribes and reads until the task is cancelled.
    ///
    /// - Throws: `closed`, and errors of the subscription.
    func run() async throws {
        try await orders.ring(for: client, at: topic, on: address, every: Self.period, onNews: refresh) { outcome in
            if self.update({ $0.list.receive(outcome) }) { self.refresh() }
        } while: {
            await self.read()
        }
    }

    // MARK: Pages

    private func read() async {
        while !Task.isCancelled {
            do {
                try await ask()
                update { $0.daemon = .running }
            } catch  where error.code == .cancelled {
                return
            } catch {
                isStale.withLock { $0 = true }
                let isAbsent = error.code == .notReachable || error.code == .timedOut
                update { $0.daemon = isAbsent ? .absent : .failing(error.advice) }
            }
            try? await Task.sleep(for: Self.pause)
            await orders.wait()
        }
    }

    private func ask() async throws(NotifyError) {
        let isStale = isStale.withLock { flag in
            defer { flag = false }
            return flag
        }
        let client = client.notStarting
        let total = try await client.unread(topic)
        let quiet = await client.quietNow()
        let (wanted, isNeeded) = screen.withLock { screen in
            screen.quiet = quiet
            let isNeeded = isStale || screen.list.isShort || total != screen.list.total
            if isNeeded { screen.list.beginLoading() }
            return (screen.list.wanted, isNeeded)
        }
        guard isNeeded else { return }
        var found: [InboxEntry] = []
        var hasMore = true
        while hasMore, found.count < wanted {
            let page = try await client.inbox(
                topic, before: found.last?.id, limit: min(Self.pageSize, wanted - found.count))
            hasMore = !page.isEmpty
            found += page
        }
        if total == found.count { hasMore = false }
        screen.withLock { $0.list.take(found, hasMore: hasMore, total: max(total, found.count)) }
    }
}

extension Bell {
    /// Rings with the daemon and with time, and tells what happens at a topic, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - onNews: called for an event, and when something may have been missed.
    ///   - work: what is done meanwhile.
    /// - Throws: `closed`, and errors of the subscriptions.
    fileprivate func ring(
        for client: NotifyClient, at topic: String, on address: String, every period: Duration,
        onNews: @escaping @Sendable () -> Void, onOutcome: @escaping @Sendable (Outcome) -> Void,
        while work: @escaping @Sendable () async -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await listen(to: client.events, at: topic, onMiss: onNews) { (_: Event) in onNews() } }
            group.addTask { try await listen(to: client.outcomes, at: topic, onMiss: onNews, onOutcome) }
            group.addTask { await self.ringForDaemon(on: address) }
            group.addTask { await self.ring(every: period) }
            group.addTask { await work() }
            // The first error ends all of them.
            while try await group.next() != nil {}
        }
    }
}

/// Reports the ``InboxStatus`` of a topic after every change, over restarts of the daemon, and does not start it.
final class InboxFollower: Sendable {
    /// The shortest time between two reports.
    static let pause = Duration.milliseconds(200)
    /// How often the daemon is asked without a signal: none tells that a muted or expired event was marked as read.
    private static let period = Duration.seconds(30)
    /// How long the daemon may be away before that is reported.
    private static let patience = Duration.seconds(2)

    private let client: NotifyClient
    private let topic: String
    private let address: String
    private let orders = Bell()

    init(_ client: NotifyClient, _ topic: String, address: String) {
        (self.client, self.topic, self.address) = (client.notStarting, topic, address)
    }

    /// Until the task is cancelled.
    ///
    /// - Throws: `invalidArgument` if the topic is none, and other errors of a subscription.
    func run(_ report: @escaping @Sendable (InboxStatus) -> Void) async throws {
        try await orders.ring(
            for: client, at: topic, on: address, every: Self.period, onNews: orders.ring
        ) { [orders] _ in
            orders.ring()
        } while: {
            await self.reportChanges(report)
        }
    }

    // MARK: Reports

    private func reportChanges(_ report: (InboxStatus) -> Void) async {
        var last: InboxStatus?
        var isAwaySince: ContinuousClock.Instant?
        while !Task.isCancelled {
            var status = await status()
            if Task.isCancelled { return }
            if status == nil {
                let start = isAwaySince ?? .now
                isAwaySince = start
                if .now - start >= Self.patience { status = InboxStatus() }
            } else {
                isAwaySince = nil
            }
            if let status, status != last {
                report(status)
                last = status
            }
            // Without an answer it asks again, until that is reported.
            if status != nil { await orders.wait() }
            // By then a new event is usually decided: one that a screen claims at once is not reported.
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// `nil` if the daemon does not answer.
    private func status() async -> InboxStatus? {
        guard let degradation = try? await client.degradation() else { return nil }
        var status = InboxStatus(isRunning: true, degradation: degradation)
        do {
            let unread = try await client.unread(topic)
            status.newest = try await client.inbox(topic, limit: InboxStatus.named)
            status.unread = max(unread, status.newest.count)
        } catch {
            // A journal that cannot be written may not be readable either.
            return degradation.isEmpty ? nil : status
        }
        status.quiet = InboxStatus.quiet(await client.quietNow(), at: topic)
        return status
    }
}
