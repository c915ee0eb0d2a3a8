public import NotifyText

/// Sends the requests of an ``EventMerge`` to the daemon, for one reader.
struct EventFeed: Sendable {
    /// The shortest time between two pages under load, because every request makes the daemon commit at once.
    private static let pageInterval = Duration.milliseconds(5)

    private struct State: Sendable {
        var merge: EventMerge
        var earliestRequest = ContinuousClock.now
    }

    private let client: NotifyClient
    private let filters: [TopicFilter]
    /// One page covers all filters: with one request for each, events between two requests could be missed.
    private let topic: String
    private let inbox: Inbox<Event>
    /// Ends the subscription.
    private let cleanup: Cleanup
    private let state: Locked<State>

    init(client: NotifyClient, filters: [TopicFilter], inbox: Inbox<Event>, cleanup: Cleanup, merge: EventMerge) {
        self.client = client
        self.filters = filters
        self.inbox = inbox
        self.cleanup = cleanup
        topic = TopicFilter.ancestor(of: filters)
        state = Locked(State(merge: merge))
    }

    /// Gets the position where the stream begins, if there is a daemon.
    func begin() async throws(NotifyError) {
        guard state.withLock({ $0.merge.nextRequest }) == .cursor else { return }
        do {
            try await learnCursor()
        } catch {
            if error.code != .notReachable { throw error }
        }
    }

    /// Waits for the next events. `nil` when the reading task was cancelled.
    func nextPage() async throws(NotifyError) -> [Event]? {
        try await inbox.next { contents async throws(NotifyError) in
            let request = state.withLock { state in
                for event in contents.elements { state.merge.receive(event) }
                if contents.isIncomplete { state.merge.markIncomplete() }
                return state.merge.nextRequest
            }
            switch request {
            case .cursor?:
                try await learnCursor()
                return []
            case .page(let last)?: return try await nextPage(after: last)
            case nil: return nil
            }
        }
    }

    private func nextPage(after last: EventID) async throws(NotifyError) -> [Event] {
        let time = state.withLock(\.earliestRequest)
        if time > .now { try? await Task.sleep(until: time, tolerance: .zero, clock: .continuous) }
        let page = try await client.history(topic, after: last, limit: EventMerge.pageSize)
        // The events in the page were announced before the page arrived.
        let contents = try inbox.take()
        inbox.noteSuccess()
        let next = state.withLock { state in
            if page.count < EventMerge.pageSize { state.earliestRequest = .now + Self.pageInterval }
            defer { if contents.isIncomplete { state.merge.markIncomplete() } }
            return state.merge.take(page, announced: contents.elements)
        }
        return next.filter { filters.cover($0.topic) }
    }

    private func learnCursor() async throws(NotifyError) {
        let cursor = try await client.snapshot(topic).cursor
        // New events up to the cursor were announced before the reply arrived.
        let contents = try inbox.take()
        state.withLock { state in
            for event in contents.elements { state.merge.receive(event) }
            state.merge.begin(at: cursor)
        }
    }
}

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
    ///     next event that is published, or, without a daemon, with the first that the next daemon accepts.
    ///   - period: how often to ask the daemon without a signal. It matters only if the bus has dropped the last
    ///     signals.
    /// - Throws: `refused` with `StorageUnavailable`, `invalidArgument`.
    public func allEvents(at topics: String..., after: EventID? = nil, period: Duration = .seconds(30))
        async throws(NotifyError) -> EventStream
    { try await allEvents(at: topics, after: after, period: period) }

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
            client: notStarting, filters: filters, inbox: inbox, cleanup: Cleanup(end), merge: EventMerge(after: after))
        try await feed.begin()
        return EventStream(feed: feed)
    }
}

/// Merges pages of the journal and signals into one complete stream of events.
///
/// Only events in a page are in the stream: a page has no gaps, but a bus silently drops signals for a reader that
/// stalls. A signal triggers the next page, and supplies what the journal does not keep, such as the time left to claim
/// the event. So lost, late or repeated signals cause neither a gap nor a duplicate.
///
/// It does no I/O and does not wait: ``nextRequest`` is what to ask the daemon next.
struct EventMerge: Sendable {
    /// A request to the daemon.
    enum Request: Equatable, Sendable {
        /// The highest id so far.
        case cursor
        /// The page after an event.
        case page(after: EventID)
    }

    /// The most events that the daemon puts into one page.
    static let pageSize = 1000
    /// How many announced events are kept until their page arrives. Beyond that, events lack what only the signal says.
    static let memory = 1024

    /// The last event that is in the stream.
    private(set) var cursor: EventID?
    /// The lowest new event announced while no cursor was known.
    private var firstReceived: EventID?
    private var received: [EventID: Event] = [:]
    private var isStale = true
    /// Whether there may be events that were not announced: then only an empty page is the end.
    private var isCatchingUp = true

    /// - Parameter cursor: the stream begins after this event; `nil`: with the next new one.
    init(after cursor: EventID?) { self.cursor = cursor }

    /// `nil` while the stream is complete.
    var nextRequest: Request? {
        guard isStale else { return nil }
        return cursor.map { .page(after: $0) } ?? .cursor
    }

    /// An event was announced.
    mutating func receive(_ event: Event) {
        if let cursor {
            if event.id <= cursor { return }
        } else if !event.isReplayed {
            firstReceived = min(firstReceived ?? event.id, event.id)
        }
        isStale = true
        if received.count < Self.memory { received[event.id] = event }
    }

    /// Signals may have been missed: there is a new connection or daemon, or there were none for long.
    mutating func markIncomplete() {
        isStale = true
        isCatchingUp = true
    }

    /// The reply to `.cursor`. Events announced before it are new, even if the cursor is above their ids.
    mutating func begin(at highest: EventID) {
        guard cursor == nil else { return }
        cursor = min(highest, firstReceived.map { EventID(rawValue: $0.rawValue &- 1) } ?? highest)
    }

    /// The reply to `.page`, in ascending order, and the events announced before it. Returns the next events of the
    /// stream.
    mutating func take(_ page: [RecordedEvent], announced events: [Event] = []) -> [Event] {
        for event in events { receive(event) }
        let next = take(page)
        // Events that are not in this page need another one.
        for event in events { receive(event) }
        return next
    }

    private mutating func take(_ page: [RecordedEvent]) -> [Event] {
        guard let start = cursor else { return [] }
        let next = page.map(\.event).filter { $0.id > start }.map { received[$0.id] ?? $0 }
        guard let end = next.last?.id else {
            isStale = false
            isCatchingUp = false
            return []
        }
        cursor = end
        if !received.isEmpty { received = received.filter { $0.key > end } }
        // A page of large events is short, and may not be the last.
        isStale = isCatchingUp || page.count >= Self.pageSize || !received.isEmpty
        return next
    }
}
