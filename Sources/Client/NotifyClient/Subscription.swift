import NotifyText

/// A stream of events, outcomes or actions, for one reader: iterate over it once, in one task.
///
/// The stream goes on when the daemon or the bus restarts. It ends by throwing
/// - `readerTooSlow`, when the buffer is full. Buffered elements are delivered before the error, so the reader knows
///   where the gap is;
/// - `closed`, when the client is closed.
///
/// Dropping the stream, or cancelling the task that reads it, ends the subscription.
public struct Subscription<Element: Sendable>: AsyncSequence, Sendable {
    let stream: AsyncThrowingStream<Element, any Error>

    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

    /// Reads the subscription; for one task.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncThrowingStream<Element, any Error>.Iterator

        /// The next element; `nil` when the reading task was cancelled.
        public mutating func next() async throws(NotifyError) -> Element? { try await next(isolation: nil) }

        /// The next element; `nil` when the reading task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NotifyError) -> Element? {
            do {
                return try await base.next(isolation: actor)
            } catch {
                throw error as? NotifyError ?? NotifyError(.closed, "The stream has ended.")
            }
        }
    }
}

extension AsyncThrowingStream.Continuation where Failure == any Error {
    /// Delivers an element, or ends the stream if its buffer is full.
    func offer(_ element: sending Element) {
        guard case .dropped = yield(element) else { return }
        finish(
            throwing: NotifyError(
                .readerTooSlow, "The reader of this subscription is too slow: its buffer is full. Subscribe again."))
    }
}

extension NotifyClient {
    /// The events at or below some topics, as they are announced. This has the lowest latency, but it is not complete:
    /// a bus may drop signals for a reader that stalls, and events published while the daemon or the bus restarts are
    /// missing. The complete stream is ``allEvents(at:after:period:)-(String...,_,_)``.
    ///
    /// The sequence has every event published after this method returns, once, even if several of the topics cover it.
    /// The bus filters: other events do not reach this process.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how many unread events are kept before the sequence ends with `readerTooSlow`.
    public func events(at topics: String..., bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Event>
    { try await events(at: topics, bufferingAtMost: limit) }

    /// The events at or below some topics: see the other form.
    public func events(at topics: [String], bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Event>
    { try await subscribe(topics, limit) }

    /// The outcomes of the events at or below some topics. An outcome can change once, from `shown` to `retracted` or
    /// `dismissed`.
    ///
    /// An outcome that is decided just before the daemon is killed may be missing. ``history(_:after:limit:)`` and
    /// ``explain(_:)`` have it.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how many unread outcomes are kept before the sequence ends with `readerTooSlow`.
    public func outcomes(at topics: String..., bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Outcome>
    { try await outcomes(at: topics, bufferingAtMost: limit) }

    /// The outcomes of the events at or below some topics: see the other form.
    public func outcomes(at topics: [String], bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Outcome>
    { try await subscribe(topics, limit) }

    /// The buttons that are pressed on banners of events at or below some topics.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how many unread actions are kept before the sequence ends with `readerTooSlow`.
    public func actions(at topics: String..., bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Action>
    { try await actions(at: topics, bufferingAtMost: limit) }

    /// The buttons that are pressed on banners: see the other form.
    public func actions(at topics: [String], bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Action>
    { try await subscribe(topics, limit) }

    /// The removals of current values at or below some topics.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how many unread removals are kept before the sequence ends with `readerTooSlow`.
    public func removals(at topics: String..., bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Removal>
    { try await removals(at: topics, bufferingAtMost: limit) }

    /// The removals of current values: see the other form.
    public func removals(at topics: [String], bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Removal>
    { try await subscribe(topics, limit) }

    /// Which topics at or below some topics come on screen or leave it. After a start of the daemon none is on screen.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how many unread changes are kept before the sequence ends with `readerTooSlow`.
    public func attention(at topics: String..., bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Attention>
    { try await attention(at: topics, bufferingAtMost: limit) }

    /// Which topics come on screen or leave it: see the other form.
    public func attention(at topics: [String], bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Attention>
    { try await subscribe(topics, limit) }

    private func subscribe<Element: Announced>(
        _ topics: [String], _ limit: Int
    ) async throws(NotifyError) -> Subscription<Element> {
        let filters = try TopicFilter.list(topics)
        guard limit > 0 else { throw NotifyError(.invalidArgument, "A buffer must hold at least one element.") }
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingOldest(limit))
        try await connections.attach(continuation, filters)
        return Subscription(stream: stream)
    }
}

extension ConnectionManager {
    /// Feeds a stream with the daemon's signals of one kind, until the stream ends.
    nonisolated func attach<Element: Announced>(
        _ continuation: AsyncThrowingStream<Element, any Error>.Continuation, _ filters: [TopicFilter],
        where isWanted: @escaping @Sendable (Element) -> Bool = { _ in true }
    ) async throws(NotifyError) {
        try await subscribe { [filters] onEnd in
            // The stream keeps the connection manager alive while it is read; the manager does not keep the stream
            // alive.
            continuation.onTermination = { _ in withExtendedLifetime(self, onEnd) }
            return SubscriberTable.Subscriber(
                rules: filters.flatMap { $0.rules(member: Element.signal) },
                receive: { announcement in
                    guard case .signal(let element as Element) = announcement, filters.cover(element.topic),
                        isWanted(element)
                    else { return }
                    continuation.offer(element)
                },
                end: { continuation.finish(throwing: $0) })
        }
    }
}

/// The subscribers to the daemon's signals. The table outlives connections: a new connection takes its match rules from
/// here.
final class SubscriberTable: Sendable {
    enum Announcement: Sendable {
        case signal(any Announced)
        /// There is another daemon, or none.
        case daemon
    }

    struct Subscriber: Sendable {
        let rules: [MatchRule]
        let receive: @Sendable (Announcement) -> Void
        let end: @Sendable (NotifyError) -> Void
    }

    private struct State {
        /// The unique name of the daemon. The bus filters broadcasts by sender, but delivers a unicast signal without
        /// checking match rules. So signals from other senders are dropped here.
        var daemon: String?
        var subscribers: [(id: UInt64, subscriber: Subscriber)] = []
    }

    private let state = Locked(State())

    var rules: [MatchRule] { state.withLock { $0.subscribers.flatMap(\.subscriber.rules) } }
    var isEmpty: Bool { state.withLock { $0.subscribers.isEmpty } }

    func add(_ subscriber: Subscriber, id: UInt64) { state.withLock { $0.subscribers.append((id, subscriber)) } }

    func contains(_ id: UInt64) -> Bool { state.withLock { $0.subscribers.contains { $0.id == id } } }

    @discardableResult
    func remove(_ id: UInt64) -> Subscriber? {
        state.withLock { state in
            guard let index = state.subscribers.firstIndex(where: { $0.id == id }) else { return nil }
            return state.subscribers.remove(at: index).subscriber
        }
    }

    func removeAll() -> [Subscriber] {
        state.withLock { state in
            defer { state.subscribers = [] }
            return state.subscribers.map(\.subscriber)
        }
    }

    /// The unique name of the daemon, while it is on the bus.
    var daemon: String? { state.withLock { $0.daemon } }

    func setDaemon(_ name: String?) {
        let listeners = state.withLock { state in
            state.daemon = name
            return state.subscribers.map(\.subscriber)
        }
        for listener in listeners { listener.receive(.daemon) }
    }

    /// Handles every signal of the connection, in order.
    func receive(_ signal: Message) {
        if let change = signal.ownerChange {
            if change.name == Router.name { setDaemon(change.owner) }
            return
        }
        let listeners = state.withLock { state in
            state.daemon == nil || state.daemon != signal.sender ? [] : state.subscribers.map(\.subscriber)
        }
        guard !listeners.isEmpty, let announced = signal.announced else { return }
        // Outside the lock, because ending a subscription calls remove().
        for listener in listeners { listener.receive(.signal(announced)) }
    }
}
