public import NotifyText

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
        let arguments: [Value] = [.string(topic), .uint64(after.rawValue), .uint32(UInt32(clamping: limit))]
        return try await call("History", arguments).arguments.first.list(RecordedEvent.init)
    }

    /// The current values at or below a topic: the last event of each topic published with `retain`, unless it was
    /// removed.
    ///
    /// - Parameter topic: `/` stands for every topic.
    /// - Throws: `refused` with `InvalidTopic` or `StorageUnavailable`.
    public func snapshot(_ topic: String = "/") async throws(NotifyError) -> Snapshot {
        let reply = try await call("Snapshot", [.string(topic)])
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
        try await call("Unread", [.string(topic)]).result { $0.integer() }
    }

    /// What a banner of an event alone says, by the route of the event.
    ///
    /// - Throws: `refused` with `UnknownEvent` or `StorageUnavailable`.
    public func render(_ id: EventID) async throws(NotifyError) -> BannerText {
        try await render(id, within: Connection.usualTimeout)
    }

    package func render(_ id: EventID, within limit: Duration) async throws(NotifyError) -> BannerText {
        let texts = try await call("Render", [.uint64(id.rawValue)], timeout: limit).arguments
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
        let arguments: [Value] = [.string(topic), .uint64(before?.rawValue ?? 0), .uint32(UInt32(clamping: limit))]
        return try await call("Inbox", arguments).arguments.first.list(InboxEntry.init)
    }

    /// How the daemon came to its decision about an event.
    ///
    /// - Throws: `refused` with `UnknownEvent` or `StorageUnavailable`.
    public func explain(_ id: EventID) async throws(NotifyError) -> Explanation {
        try await call("Explain", [.uint64(id.rawValue)]).result { $0.entries.flatMap { Explanation(id, $0) } }
    }

    /// Why the daemon accepts no events, in a sentence; `nil` if it does. This does not start the daemon.
    public func degraded() async throws(NotifyError) -> String? {
        let reason = try await degradation()
        return reason.isEmpty ? nil : reason
    }
}

/// An event in the journal, with its outcome.
///
/// It has no ``Event/window`` and ``Event/sender``: only signals have them. The window of a silent event in a
/// ``Snapshot`` is zero.
public struct RecordedEvent: Hashable, Sendable {
    /// What was published.
    public var event: Event
    /// `nil` while the event is undecided.
    public var outcome: Outcome.Kind?

    public init(event: Event, outcome: Outcome.Kind? = nil) {
        self.event = event
        self.outcome = outcome
    }
}

extension RecordedEvent {
    /// From an entry of a list: `t s s s x s a{sv}`.
    package init?(_ entry: Value) {
        guard let members = entry.elements, members.count >= 7,
            case .uint64(let id) = members[0],
            case .string(let topic) = members[1],
            case .string(let title) = members[2],
            case .string(let body) = members[3],
            case .int64(let published) = members[4],
            case .string(let outcome) = members[5],
            let fields = members[6].fields
        else { return nil }
        self.init(
            event: Event(
                id: EventID(rawValue: id), topic: topic, title: title, body: body, fields: fields,
                published: published),
            outcome: outcome.isEmpty ? nil : Outcome.Kind(rawValue: outcome))
    }
}

/// The current values at or below a topic at one point in time.
public struct Snapshot: Hashable, Sendable {
    /// The highest id at that time. Events with higher ids are newer than the snapshot.
    public var cursor: EventID
    /// One event for each topic that has a value, in ascending order of their ids.
    public var values: [RecordedEvent]
}

/// What a banner says.
public struct BannerText: Hashable, Sendable {
    /// One line.
    public var title: String
    /// May be empty, and may have several lines.
    public var body: String

    public init(title: String, body: String) {
        self.title = title
        self.body = body
    }
}

/// An event that nobody has seen.
public struct InboxEntry: Hashable, Sendable {
    /// Its id.
    public var id: EventID
    /// Where it belongs.
    public var topic: String
    /// What its banner says.
    public var text: BannerText
    /// When it happened, in microseconds since 1970-01-01 00:00 UTC.
    public var published: Int64
    /// `nil` while it is undecided; else `shown`, `muted` or `expired`.
    public var outcome: Outcome.Kind?
    /// The urgency of the banner.
    public var urgency: PublishOptions.Urgency?
    /// Application, icon and buttons; nothing else of the banner is told.
    public var appearance = BannerOptions()
    /// Whether its route has `break_through`: its banners come during a pause or a mute, too.
    public var breaksThrough = false
    /// When the banner of a snoozed event comes back, in microseconds since 1970-01-01 00:00 UTC; `nil` for any other
    /// event.
    public var snoozeEnd: Int64?
}

extension InboxEntry {
    /// From an entry of a list: `t s s s x s a{sv}`.
    init?(_ entry: Value) {
        guard let record = RecordedEvent(entry), let published = record.event.published else { return nil }
        let details = record.event.fields
        self.init(
            id: record.event.id, topic: record.event.topic,
            text: BannerText(title: record.event.title, body: record.event.body), published: published,
            outcome: record.outcome,
            urgency: details["urgency"]?.integer().flatMap { PublishOptions.Urgency(rawValue: $0) },
            appearance: BannerOptions(app: details["app"]?.string, icon: details["icon"]?.string))
        breaksThrough = details["break-through"]?.boolean ?? false
        snoozeEnd = details["snoozed"]?.integer()
        let texts = details["actions"]?.elements?.compactMap(\.string) ?? []
        for index in stride(from: 0, to: texts.count - 1, by: 2) {
            appearance.buttons.append(BannerOptions.Button(key: texts[index], label: texts[index + 1]))
        }
    }
}

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
