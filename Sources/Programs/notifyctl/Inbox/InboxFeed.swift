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
    private let (bell, rope) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let (orders, ordering) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(_ client: NotifyClient, _ topic: String, address: String) {
        self.client = client
        self.topic = topic
        self.address = address
        screen.withLock { $0.topic = topic }
    }

    /// Changes what is shown, and has it drawn.
    func update<Result>(_ change: (inout InboxScreen) -> Result) -> Result {
        defer { ring() }
        return screen.withLock(change)
    }

    /// Draws without a change.
    func draw<Result>(_ draw: (inout InboxScreen) -> Result) -> Result { screen.withLock(draw) }

    /// Waits for the next change, at most one period, while the feed runs.
    func news() async {
        for await _ in bell { return }
    }

    func ring() { rope.yield() }

    /// Reads older events if the user comes near the last one.
    func loadIfNeeded() {
        if screen.withLock(\.list.isShort) { ordering.yield() }
    }

    /// Reads the events anew.
    func refresh() {
        isStale.withLock { $0 = true }
        ordering.yield()
    }

    /// Subscribes and reads until the task is cancelled.
    ///
    /// - Throws: `closed`, and errors of the subscription.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await self.listen(to: self.client.events) { (_: Event) in self.refresh() }
            }
            group.addTask {
                try await self.listen(to: self.client.outcomes) { (outcome: Outcome) in
                    if self.update({ $0.list.receive(outcome) }) { self.refresh() }
                }
            }
            group.addTask { await DaemonWatch(address: self.address).run { self.ordering.yield() } }
            group.addTask { await self.read() }
            group.addTask {
                while !Task.isCancelled {
                    try? await Task.sleep(for: Self.period)
                    self.ordering.yield()
                }
            }
            // The first error ends all of them.
            while try await group.next() != nil {}
        }
    }

    private func listen<Element: Sendable>(
        to subscribe: ([String], Int) async throws -> Subscription<Element>, _ receive: (Element) -> Void
    ) async throws {
        while !Task.isCancelled {
            do {
                for try await element in try await subscribe([topic], 4096) { receive(element) }
            } catch let error as NotifyError where error.code == .readerTooSlow {
                refresh()
            }
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
            for await _ in orders { break }
        }
    }

    private func ask() async throws(NotifyError) {
        let isStale = isStale.withLock { flag in
            defer { flag = false }
            return flag
        }
        let total = try await client.unread(topic, autoStart: false)
        // An older daemon does not have this property.
        let quiet = (try? await client.quiet()) ?? []
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
                topic, before: found.last?.id, limit: min(Self.pageSize, wanted - found.count), autoStart: false)
            hasMore = !page.isEmpty
            found += page
        }
        if total == found.count { hasMore = false }
        screen.withLock { $0.list.take(found, hasMore: hasMore, total: max(total, found.count)) }
    }
}
