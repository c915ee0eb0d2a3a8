import NotifyClient

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
    private let orders: AsyncStream<Void>
    private let ordering: AsyncStream<Void>.Continuation

    init(_ client: NotifyClient, _ topic: String, address: String) {
        self.client = client
        self.topic = topic
        self.address = address
        (orders, ordering) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Until the task is cancelled.
    ///
    /// - Throws: `invalidArgument` if the topic is none, and other errors of a subscription.
    func run(_ report: @escaping @Sendable (InboxStatus) -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.listen(to: self.client.events) }
            group.addTask { try await self.listen(to: self.client.outcomes) }
            group.addTask { await DaemonWatch(address: self.address).run { self.ordering.yield() } }
            group.addTask { await self.orderRegularly() }
            group.addTask { await self.reportChanges(report) }
            // The first error ends all of them.
            while try await group.next() != nil {}
        }
    }

    // MARK: Signals

    private func listen<Element: Sendable>(
        to subscribe: ([String], Int) async throws -> Subscription<Element>
    ) async throws {
        while !Task.isCancelled {
            do {
                for try await _ in try await subscribe([topic], 4096) { ordering.yield() }
            } catch let error as NotifyError where error.code == .readerTooSlow {
                ordering.yield()
            }
        }
    }

    private func orderRegularly() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.period)
            ordering.yield()
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
            if status != nil { for await _ in orders { break } }
            // By then a new event is usually decided: one that a screen claims at once is not reported.
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// `nil` if the daemon does not answer.
    private func status() async -> InboxStatus? {
        guard let degradation = try? await client.degradation() else { return nil }
        var status = InboxStatus(isRunning: true, degradation: degradation)
        do {
            let unread = try await client.unread(topic, autoStart: false)
            status.newest = try await client.inbox(topic, limit: InboxStatus.named, autoStart: false)
            status.unread = max(unread, status.newest.count)
        } catch {
            // A journal that cannot be written may not be readable either.
            return degradation.isEmpty ? nil : status
        }
        // An older daemon does not have this property.
        status.quiet = InboxStatus.quiet((try? await client.quiet()) ?? [], at: topic)
        return status
    }
}
