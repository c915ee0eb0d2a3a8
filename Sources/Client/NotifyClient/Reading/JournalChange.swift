/// A row of what the daemon has committed: see ``NotifyClient/journalChanges(after:limit:)``.
public struct JournalChange: Hashable, Sendable {
    /// Grows strictly, also over restarts.
    public var number: UInt64
    /// `event`, `outcome`, `read`, `removed` or `start`; others may be added.
    public var kind: String
    /// The topic of the event or the value; empty for a start.
    public var topic: String
    /// The event, or the removal itself; 0 for a start.
    public var id: EventID
    /// What the row says, by the keys of org.notifyd.Router1(5).
    public var details: [String: Value]

    public init(number: UInt64, kind: String, topic: String, id: EventID, details: [String: Value]) {
        self.number = number
        self.kind = kind
        self.topic = topic
        self.id = id
        self.details = details
    }
}

extension JournalChange {
    /// From a row: `t s s t a{sv}`.
    init?(_ row: Value) {
        guard let members = row.elements, members.count >= 5, let number: UInt64 = members[0].integer(),
            let kind = members[1].string, let topic = members[2].string, let id: UInt64 = members[3].integer(),
            let details = members[4].entries
        else { return nil }
        self.init(number: number, kind: kind, topic: topic, id: EventID(rawValue: id), details: details)
    }
}

extension NotifyClient {
    /// Everything in the order in which it was committed: events, outcomes, read marks, removals and the starts of the
    /// daemon. A bridge follows with this what it has to pass on.
    ///
    /// - Parameters:
    ///   - after: the number of the last change that is already known; 0 begins with the oldest.
    ///   - limit: at most 1000. A page may be shorter and still not be the last; an empty one is the end.
    /// - Returns: the changes, and the number from which on nothing was deleted because of its age. Other holes mean
    ///   nothing.
    /// - Throws: `refused` with `StorageUnavailable`.
    public func journalChanges(
        after: UInt64 = 0, limit: Int = 1000
    ) async throws(NotifyError) -> (oldest: UInt64, changes: [JournalChange]) {
        let reply = try await call("Changes", [.uint64(after), .uint32(UInt32(clamping: limit))])
        guard let page = JournalChange.page(of: reply.arguments) else { throw .strangeReply }
        return page
    }
}
