/// The current values at or below a topic, and then every change, for one reader: iterate over it once, in one task.
///
/// It begins with the current values, as `added`. When the daemon or the bus has restarted, when the reader has fallen behind,
/// and at regular intervals, the stream takes a new snapshot and delivers the differences. Of several missed changes it
/// delivers only the last.
///
/// While there is no daemon the stream waits, and no value counts as removed. It ends by throwing `closed` when its client
/// is closed. Dropping it, or cancelling the task that reads it, ends the subscription.
public struct ChangeStream: AsyncSequence, Sendable {
    public typealias Element = Change

    let feed: ChangeFeed

    public func makeAsyncIterator() -> Iterator { Iterator(feed: feed) }

    /// Reads the stream; for one task.
    public struct Iterator: AsyncIteratorProtocol {
        let feed: ChangeFeed
        private var changes: ArraySlice<Change> = []

        init(feed: ChangeFeed) { self.feed = feed }

        /// The next change; `nil` when the reading task was cancelled.
        public mutating func next() async throws(NotifyError) -> Change? { try await next(isolation: nil) }

        /// The next change; `nil` when the reading task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NotifyError) -> Change? {
            while changes.isEmpty {
                guard let next = try await feed.nextChanges() else { return nil }
                changes = next[...]
            }
            return changes.removeFirst()
        }
    }
}

extension NotifyClient {
    /// The current values at or below a topic from now on, as they are added, modified and removed.
    ///
    ///     for try await change in try await client.watch("/run/r1/mate") {
    ///         show(change.topic, change.kind == .removed ? nil : change.value)
    ///     }
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - period: how often to take a snapshot without a signal. It matters only if the bus has dropped signals.
    /// - Throws: `invalidArgument`.
    public func watch(_ topic: String, period: Duration = .seconds(30)) async throws(NotifyError) -> ChangeStream {
        let filter = try TopicFilter(topic)
        let timer = try PeriodicTimer(period: period)
        let inbox = Inbox<ChangeFeed.Announcement>(limit: 4096)
        let end = try await connections.subscribe { onEnd in
            SubscriberTable.Subscriber(
                rules: filter.rules(member: "Event") + filter.rules(member: "Removed"),
                receive: { announcement in
                    switch announcement {
                    case .event(let event):
                        if event.isRetained, filter.covers(event.topic) { inbox.put(.event(event)) }
                    case .removal(let removal):
                        if filter.covers(removal.topic) { inbox.put(.removal(removal)) }
                    case .daemon: inbox.signal()
                    case .outcome, .action: break
                    }
                },
                end: { inbox.end($0) })
        }
        return ChangeStream(feed: ChangeFeed(client: self, topic: topic, inbox: inbox, timer: timer, onEnd: end))
    }
}
