extension NotifyClient {
    /// The events at or below some topics, as they are announced: the quickest way to hear, but a bus may drop signals
    /// for a reader that stalls, and what happens while the daemon or the bus restarts is not heard. What is complete is
    /// ``allEvents(at:after:period:)-(String...,_,_)``. What is published after this returns is in the sequence; each event is in it
    /// once, even when several of the topics cover it. The filter works on the bus: other events do not reach this
    /// process.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how many unread events are kept before the sequence ends with `readerTooSlow`.
    public func events(at topics: String..., bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Event>
    {
        try await events(at: topics, bufferingAtMost: limit)
    }

    /// The events at or below some topics: see the other form.
    public func events(at topics: [String], bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Event>
    {
        try await subscribe("Event", topics, limit, topic: \.topic) { announcement in
            if case .event(let event) = announcement { event } else { nil }
        }
    }

    /// The outcomes of the events at or below some topics. An outcome can change once, from `shown` to `retracted` or
    /// `dismissed`.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how many unread outcomes are kept before the sequence ends with `readerTooSlow`.
    public func outcomes(at topics: String..., bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Outcome>
    {
        try await outcomes(at: topics, bufferingAtMost: limit)
    }

    /// The outcomes of the events at or below some topics: see the other form.
    public func outcomes(at topics: [String], bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Outcome>
    {
        try await subscribe("Resolved", topics, limit, topic: \.topic) { announcement in
            if case .outcome(let outcome) = announcement { outcome } else { nil }
        }
    }

    /// The buttons that users choose on banners of events at or below some topics.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how many unread actions are kept before the sequence ends with `readerTooSlow`.
    public func actions(at topics: String..., bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Action>
    {
        try await actions(at: topics, bufferingAtMost: limit)
    }

    /// The buttons that users choose on banners: see the other form.
    public func actions(at topics: [String], bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Action>
    {
        try await subscribe("ActionInvoked", topics, limit, topic: \.topic) { announcement in
            if case .action(let action) = announcement { action } else { nil }
        }
    }

    /// The topics at or below some topics whose current value is taken away.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how many unread removals are kept before the sequence ends with `readerTooSlow`.
    public func removals(at topics: String..., bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Removal>
    {
        try await removals(at: topics, bufferingAtMost: limit)
    }

    /// The topics whose current value is taken away: see the other form.
    public func removals(at topics: [String], bufferingAtMost limit: Int = 4096) async throws(NotifyError)
        -> Subscription<Removal>
    {
        try await subscribe("Removed", topics, limit, topic: \.topic) { announcement in
            if case .removal(let removal) = announcement { removal } else { nil }
        }
    }

    private func subscribe<Element: Sendable>(
        _ member: String, _ topics: [String], _ limit: Int,
        topic: @escaping @Sendable (Element) -> String,
        _ pick: @escaping @Sendable (SubscriberTable.Announcement) -> Element?
    ) async throws(NotifyError) -> Subscription<Element> {
        let filters = try TopicFilter.list(topics)
        guard limit > 0 else { throw NotifyError(.invalidArgument, "A buffer holds at least one element.") }
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingOldest(limit))
        try await link.attach(continuation, to: member, filters, topic: topic, pick)
        return Subscription(stream: stream)
    }
}

extension Link {
    /// Feeds a stream with what is picked from the daemon's signals of one name, until the stream ends.
    nonisolated func attach<Element: Sendable>(
        _ continuation: AsyncThrowingStream<Element, any Error>.Continuation, to member: String,
        _ filters: [TopicFilter], topic: @escaping @Sendable (Element) -> String,
        _ pick: @escaping @Sendable (SubscriberTable.Announcement) -> Element?
    ) async throws(NotifyError) {
        try await subscribe { [filters] onEnd in
            // The stream keeps the link alive as long as somebody reads; the link never keeps the stream.
            continuation.onTermination = { _ in withExtendedLifetime(self, onEnd) }
            return SubscriberTable.Subscriber(
                rules: filters.flatMap { $0.rules(member: member) },
                hear: { announcement in
                    guard let element = pick(announcement) else { return }
                    let place = topic(element)
                    if filters.contains(where: { $0.covers(place) }) { continuation.offer(element) }
                },
                end: { continuation.finish(throwing: $0) })
        }
    }
}
