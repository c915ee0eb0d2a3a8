/// Every event at or below some topics, once and in ascending order of the ids, whatever happens to signals, to the
/// daemon, to the bus or to the speed of the reader. It is for one reader: iterate over it once, in one task.
///
/// It takes its events from the daemon's journal, page by page as they are read, and listens to know when there are new
/// ones. So a slow reader costs no memory and misses nothing, unless it falls behind by more than the daemon keeps (30
/// days or a million events, if not configured otherwise). The price is one more question to the daemon before a new
/// event is here; who must be quick, because it claims, listens with ``NotifyClient/events(at:bufferingAtMost:)-(String...,_)``.
///
/// An event that was announced while the stream was up to date has everything its signal said. One that was missed has
/// what the journal keeps: no ``Event/window``, ``Event/sender``, ``Event/source`` and ``Event/eventID``.
///
/// While the daemon is away, or cannot read its journal, the stream waits. It ends by throwing `closed` when its client is
/// closed. Dropping it, or cancelling the task that reads it, ends the subscription.
public struct EventStream: AsyncSequence, Sendable {
    public typealias Element = Event

    let feed: EventFeed

    public func makeAsyncIterator() -> Iterator { Iterator(feed: feed) }

    /// Reads the stream; for one task.
    public struct Iterator: AsyncIteratorProtocol {
        let feed: EventFeed
        private var page: ArraySlice<Event> = []

        init(feed: EventFeed) { self.feed = feed }

        /// The next event; `nil` when the reading task was cancelled.
        public mutating func next() async throws(NotifyError) -> Event? { try await next(isolation: nil) }

        /// The next event; `nil` when the reading task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NotifyError) -> Event? {
            while page.isEmpty {
                guard let next = try await feed.nextPage() else { return nil }
                page = next[...]
            }
            return page.removeFirst()
        }
    }
}

extension NotifyClient {
    /// Every event at or below some topics from now on, or after a known one: complete, in order, and each once.
    ///
    ///     var last = lastSavedID
    ///     for try await event in try await client.allEvents(at: "/run", after: last) {
    ///         last = event.id
    ///     }
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - after: the last event that is known already, from whenever; 0 begins with the oldest that is kept; `nil`: what
    ///     is published after this returns. (Without a daemon on the bus: what the next one accepts.)
    ///   - period: how often to ask the daemon even when nothing is heard. It matters only when the bus has dropped the
    ///     very last signals.
    /// - Throws: `refused` with `StorageUnavailable`, `invalidArgument`.
    public func allEvents(at topics: String..., after: EventID? = nil, period: Duration = .seconds(30))
        async throws(NotifyError) -> EventStream
    {
        try await allEvents(at: topics, after: after, period: period)
    }

    /// Every event at or below some topics: see the other form.
    public func allEvents(at topics: [String], after: EventID? = nil, period: Duration = .seconds(30))
        async throws(NotifyError) -> EventStream
    {
        let filters = try TopicFilter.list(topics)
        let alarm = try Alarm(period: period)
        let inbox = Inbox<Event>(limit: EventMerge.memory)
        let end = try await link.subscribe { onEnd in
            SubscriberTable.Subscriber(
                rules: filters.flatMap { $0.rules(member: "Event") },
                hear: { announcement in
                    switch announcement {
                    case .event(let event):
                        if filters.contains(where: { $0.covers(event.topic) }) { inbox.put(event) }
                    case .daemon: inbox.ring()
                    default: break
                    }
                },
                end: { inbox.end($0) })
        }
        let feed = EventFeed(
            client: self, filters: filters, merge: EventMerge(after: after), inbox: inbox, alarm: alarm, onEnd: end)
        try await feed.begin()
        return EventStream(feed: feed)
    }
}
