/// Every event at or below some topics, once and in ascending order of the ids, even if signals are lost, the daemon or
/// the bus restarts, or the reader is slow. It is for one reader: iterate over it once, in one task.
///
/// The stream reads the daemon's journal page by page; signals tell it when there are new events. So a slow reader
/// costs no memory and misses nothing that the daemon still keeps (30 days or a million events by default). A new event
/// takes one more round trip. A program that claims needs the lower latency of
/// ``NotifyClient/events(at:bufferingAtMost:)-(String...,_)``.
///
/// An event that was announced while the stream was up to date has all data of its signal. Other events have what the
/// journal keeps: no ``Event/window``, ``Event/sender``, ``Event/source`` and ``Event/eventID``.
///
/// While there is no daemon, or it cannot read its journal, the stream waits. It ends by throwing `closed` when its
/// client is closed. Dropping it, or cancelling the task that reads it, ends the subscription.
public struct EventStream: AsyncSequence, Sendable {
    public typealias Element = Event

    let feed: EventFeed

    /// Reads the stream; for one task.
    public typealias Iterator = BatchIterator<Event>

    public func makeAsyncIterator() -> Iterator { Iterator(feed.nextPage) }
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
    ///   - after: the last event that is already known; 0 begins with the oldest event in the journal; `nil` with the
    ///   next event
    ///     that is published, or, without a daemon, with the first that the next daemon accepts.
    ///   - period: how often to ask the daemon without a signal. It matters only if the bus has dropped the last
    ///   signals.
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
        let inbox = try Inbox<Event>(limit: EventMerge.memory, period: period)
        let end = try await connections.subscribe { onEnd in
            SubscriberTable.Subscriber(
                rules: filters.flatMap { $0.rules(member: "Event") },
                receive: { announcement in
                    switch announcement {
                    case .signal(let event as Event) where filters.cover(event.topic): inbox.put(event)
                    case .signal: break
                    case .daemon: inbox.signal()
                    }
                },
                end: { inbox.end($0) })
        }
        let feed = EventFeed(
            client: self, filters: filters, inbox: inbox, cleanup: Cleanup(end), merge: EventMerge(after: after))
        try await feed.begin()
        return EventStream(feed: feed)
    }
}
