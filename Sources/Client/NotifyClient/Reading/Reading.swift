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
        return try RecordedEvent.list(try await call("History", arguments, autoStart: autoStart).arguments.first)
    }

    /// The current values at or below a topic: the last event of each topic published with `retain`, unless it was removed.
    ///
    /// - Parameter topic: `/` stands for every topic.
    /// - Throws: `refused` with `InvalidTopic` or `StorageUnavailable`.
    public func snapshot(_ topic: String = "/") async throws(NotifyError) -> Snapshot {
        try await snapshot(topic, autoStart: true)
    }

    func snapshot(_ topic: String, autoStart: Bool) async throws(NotifyError) -> Snapshot {
        let reply = try await call("Snapshot", [.string(topic)], autoStart: autoStart)
        guard case .uint64(let cursor)? = reply.arguments.first else { throw .strangeReply }
        var values = try RecordedEvent.list(reply.arguments.dropFirst().first)
        for index in values.indices { values[index].event.isRetained = true }
        return Snapshot(cursor: EventID(rawValue: cursor), values: values)
    }

    /// The number of unread events at or below a topic: those that are undecided, shown, muted or expired.
    ///
    /// - Throws: `refused` with `InvalidTopic` or `StorageUnavailable`.
    public func unread(_ topic: String = "/") async throws(NotifyError) -> Int {
        guard let count: Int = try await call("Unread", [.string(topic)]).arguments.first?.integer() else {
            throw .strangeReply
        }
        return count
    }

    /// How the daemon came to its decision about an event.
    ///
    /// - Throws: `refused` with `UnknownEvent` or `StorageUnavailable`.
    public func explain(_ id: EventID) async throws(NotifyError) -> Explanation {
        try await explain(id, autoStart: true)
    }

    /// - Parameter autoStart: whether the bus starts a daemon that is not running.
    package func explain(_ id: EventID, autoStart: Bool) async throws(NotifyError) -> Explanation {
        let reply = try await call("Explain", [.uint64(id.rawValue)], autoStart: autoStart)
        guard let record = reply.arguments.first?.entries, let explanation = Explanation(id, record) else {
            throw .strangeReply
        }
        return explanation
    }

    /// Why the daemon accepts no events, in a sentence; `nil` if it does. This does not start the daemon.
    public func degraded() async throws(NotifyError) -> String? {
        guard let reason = try await property("Degraded").string else { throw .strangeReply }
        return reason.isEmpty ? nil : reason
    }
}
