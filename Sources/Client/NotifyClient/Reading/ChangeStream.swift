/// The current values at or below a topic, and then every change, for one reader: iterate over it once, in one task.
///
/// It begins with the current values, as `added`. When the daemon or the bus has restarted, when the reader has fallen
/// behind, and at regular intervals, the stream takes a new snapshot and delivers the differences. Of several missed
/// changes it delivers only the last.
///
/// While there is no daemon the stream waits, and no value counts as removed. It ends by throwing `closed` when its
/// client is closed. Dropping it, or cancelling the task that reads it, ends the subscription.
public struct ChangeStream: AsyncSequence, Sendable {
    public typealias Element = Change

    let feed: ChangeFeed

    /// Reads the stream; for one task.
    public typealias Iterator = BatchIterator<Change>

    public func makeAsyncIterator() -> Iterator { Iterator(feed.nextChanges) }
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
        let inbox = try Inbox<any Announced>(limit: 4096, period: period)
        let end = try await connections.subscribe { onEnd in
            SubscriberTable.Subscriber(
                rules: filter.rules(member: "Event") + filter.rules(member: "Removed"),
                receive: { announcement in
                    switch announcement {
                    case .signal(let signal):
                        let isChange = (signal as? Event)?.isRetained ?? (signal is Removal)
                        if isChange, filter.covers(signal.topic) { inbox.put(signal) }
                    case .daemon: inbox.signal()
                    }
                },
                end: { inbox.end($0) })
        }
        return ChangeStream(feed: ChangeFeed(client: self, topic: topic, inbox: inbox, cleanup: Cleanup(end)))
    }
}
