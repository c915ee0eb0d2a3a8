/// History, current values and explanations.
extension NotifyClient {
    /// Events at or below a topic with an id above `after`, in ascending order: one page of them. The next page begins
    /// after the last id of this one; an empty page is the end.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - after: the last id that is already known; 0 begins with the oldest event in the journal.
    ///   - limit: at most 1000. A page may be shorter and still not be the last.
    /// - Throws: `refused` with `InvalidTopic` or `StorageUnavailable`.
    public func history(_ topic: String = "/", after: EventID = 0, limit: Int = 1000) async throws(NotifyError)
        -> [RecordedEvent]
    {
        try await history(topic, after: after, limit: limit, autoStart: true)
    }

    func history(_ topic: String, after: EventID, limit: Int, autoStart: Bool) async throws(NotifyError)
        -> [RecordedEvent]
    {
        let arguments: [Value] = [.string(topic), .uint64(after.rawValue), .uint32(UInt32(clamping: limit))]
        return try await call("History", arguments, autoStart: autoStart).arguments.first.list(RecordedEvent.init)
    }

    /// The current values at or below a topic: the last event of each topic published with `retain`, unless it was
    /// removed.
    ///
    /// - Parameter topic: `/` stands for every topic.
    /// - Throws: `refused` with `InvalidTopic` or `StorageUnavailable`.
    public func snapshot(_ topic: String = "/") async throws(NotifyError) -> Snapshot {
        try await snapshot(topic, autoStart: true)
    }

    func snapshot(_ topic: String, autoStart: Bool) async throws(NotifyError) -> Snapshot {
        let reply = try await call("Snapshot", [.string(topic)], autoStart: autoStart)
        let cursor = try reply.result(EventID.init)
        var values = try reply.arguments.dropFirst().first.list(RecordedEvent.init)
        for index in values.indices {
            values[index].event.isRetained = true
            // As in its signal.
            if values[index].outcome == .silent { values[index].event.window = .zero }
        }
        return Snapshot(cursor: cursor, values: values)
    }

    /// The number of unread events at or below a topic: those that are undecided, shown, muted or expired.
    ///
    /// - Throws: `refused` with `InvalidTopic` or `StorageUnavailable`.
    public func unread(_ topic: String = "/") async throws(NotifyError) -> Int {
        try await unread(topic, autoStart: true)
    }

    /// - Parameter autoStart: whether the bus starts a daemon that is not running.
    package func unread(_ topic: String, autoStart: Bool) async throws(NotifyError) -> Int {
        try await call("Unread", [.string(topic)], autoStart: autoStart).result { $0.integer() }
    }

    /// What a banner of an event alone says, by the route of the event.
    ///
    /// - Throws: `refused` with `UnknownEvent` or `StorageUnavailable`.
    public func render(_ id: EventID) async throws(NotifyError) -> BannerText {
        try await render(id, autoStart: true)
    }

    /// - Parameter autoStart: whether the bus starts a daemon that is not running.
    package func render(
        _ id: EventID, autoStart: Bool, timeout: Duration = Connection.usualTimeout
    ) async throws(NotifyError) -> BannerText {
        let texts = try await call("Render", [.uint64(id.rawValue)], autoStart: autoStart, timeout: timeout).arguments
        guard case .string(let title)? = texts.first, case .string(let body)? = texts.dropFirst().first else {
            throw .strangeReply
        }
        return BannerText(title: title, body: body)
    }

    /// Unread events at or below a topic, the newest first: one page of them. The next page begins before the last id
    /// of this one; an empty page is the end.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - before: the last id that is already known; `nil` begins with the newest event.
    ///   - limit: at most 1000. A page may be shorter and still not be the last.
    /// - Throws: `refused` with `InvalidTopic` or `StorageUnavailable`.
    public func inbox(
        _ topic: String = "/", before: EventID? = nil, limit: Int = 1000
    ) async throws(NotifyError) -> [InboxEntry] {
        try await inbox(topic, before: before, limit: limit, autoStart: true)
    }

    /// - Parameter autoStart: whether the bus starts a daemon that is not running.
    package func inbox(
        _ topic: String, before: EventID? = nil, limit: Int, autoStart: Bool
    ) async throws(NotifyError) -> [InboxEntry] {
        let arguments: [Value] = [
            .string(topic), .uint64(before?.rawValue ?? 0), .uint32(UInt32(clamping: limit)),
        ]
        let reply = try await call("Inbox", arguments, autoStart: autoStart)
        guard let elements = reply.arguments.first?.elements else { throw .strangeReply }
        return try elements.map { element throws(NotifyError) in
            guard let entry = InboxEntry(element) else { throw .strangeReply }
            return entry
        }
    }

    /// How the daemon came to its decision about an event.
    ///
    /// - Throws: `refused` with `UnknownEvent` or `StorageUnavailable`.
    public func explain(_ id: EventID) async throws(NotifyError) -> Explanation {
        try await explain(id, autoStart: true)
    }

    /// - Parameter autoStart: whether the bus starts a daemon that is not running.
    package func explain(_ id: EventID, autoStart: Bool) async throws(NotifyError) -> Explanation {
        try await call("Explain", [.uint64(id.rawValue)], autoStart: autoStart).result {
            $0.entries.flatMap { Explanation(id, $0) }
        }
    }

    /// Why the daemon accepts no events, in a sentence; `nil` if it does. This does not start the daemon.
    public func degraded() async throws(NotifyError) -> String? {
        let reason = try await degradation()
        return reason.isEmpty ? nil : reason
    }
}
