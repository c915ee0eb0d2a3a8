public import NotifyText

/// What happened to the current value of a topic.
public struct Change: Hashable, Sendable {
    /// The kind of a change. More may come, so a `switch` over it needs a `default`.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The topic has a value, and the watcher knew none before.
        public static let added = Kind(rawValue: "added")
        /// The value was replaced.
        public static let modified = Kind(rawValue: "modified")
        /// The topic no longer has a value.
        public static let removed = Kind(rawValue: "removed")
    }

    /// What happened to the value.
    public var kind: Kind
    /// The topic of the value.
    public var topic: String
    /// The value; for `removed`, the last known value.
    public var value: Event

    public init(_ kind: Kind, _ value: Event) {
        self.kind = kind
        self.value = value
        topic = value.topic
    }
}

/// A current value was removed or has expired: the signal `Removed`.
public struct Removal: Hashable, Sendable {
    /// The topic of the value.
    public var topic: String
    /// The id of the removal itself, above that of the value.
    public var id: EventID

    public init(topic: String, id: EventID) {
        self.topic = topic
        self.id = id
    }
}

extension Removal: Announced {
    package static let signal = "Removed"

    /// From the arguments of the signal: `s t`.
    package init?(arguments: [Value]) {
        guard arguments.count >= 2, case .string(let topic) = arguments[0], case .uint64(let id) = arguments[1] else {
            return nil
        }
        self.init(topic: topic, id: EventID(rawValue: id))
    }
}

/// Keeps a ``ValueTable`` up to date for one reader.
struct ChangeFeed: Sendable {
    private struct State: Sendable {
        var table = ValueTable()
        var isStale = true
    }

    let client: NotifyClient
    let topic: String
    /// Events and removals.
    let inbox: Inbox<any Announced>
    /// Ends the subscription.
    let cleanup: Cleanup
    private let state = Locked(State())

    /// Waits for the next changes. `nil` when the reading task was cancelled.
    func nextChanges() async throws(NotifyError) -> [Change]? {
        try await inbox.next { contents async throws(NotifyError) in
            let (changes, isStale) = state.withLock { state in
                if contents.isIncomplete { state.isStale = true }
                return (contents.elements.compactMap { state.table.receive($0) }, state.isStale)
            }
            if !changes.isEmpty { return changes }
            guard isStale else { return nil }
            let snapshot = try await client.snapshot(topic)
            inbox.noteSuccess()
            return state.withLock { state in
                state.isStale = false
                return state.table.take(snapshot)
            }
        }
    }
}

extension ValueTable {
    fileprivate mutating func receive(_ signal: any Announced) -> Change? {
        switch signal {
        case let event as Event: receive(event)
        case let removal as Removal: receive(removal)
        default: nil
        }
    }
}

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
        return ChangeStream(feed: ChangeFeed(client: notStarting, topic: topic, inbox: inbox, cleanup: Cleanup(end)))
    }
}

/// The current values of topics for one watcher, from snapshots and the signals between them.
///
/// A snapshot is authoritative up to its cursor, and a signal counts only above that. So signals may arrive before or
/// after a snapshot, twice or never: the next snapshot corrects the difference.
struct ValueTable: Sendable {
    private var values: [ByteString: Event] = [:]
    /// The cursor of the last snapshot.
    private var cursor: EventID = 0

    /// An event was announced.
    mutating func receive(_ event: Event) -> Change? {
        let key = event.topic.bytes
        guard event.isRetained, event.id > cursor else { return nil }
        if let known = values[key], known.id >= event.id { return nil }
        let kind: Change.Kind = values.updateValue(event, forKey: key) == nil ? .added : .modified
        return Change(kind, event)
    }

    /// A removal was announced.
    mutating func receive(_ removal: Removal) -> Change? {
        let key = removal.topic.bytes
        guard removal.id > cursor, let known = values[key], known.id < removal.id else { return nil }
        values[key] = nil
        return Change(.removed, known)
    }

    /// Applies a snapshot. Returns the removed values, then the new ones, each by ascending id.
    mutating func take(_ snapshot: Snapshot) -> [Change] {
        cursor = snapshot.cursor
        let former = values
        values = [:]
        var news: [Change] = []
        for event in snapshot.values.map(\.event) {
            let key = event.topic.bytes
            values[key] = event
            guard let known = former[key] else {
                news.append(Change(.added, event))
                continue
            }
            if known.id == event.id { values[key] = known } else { news.append(Change(.modified, event)) }
        }
        let gone = former.filter { values[$0.key] == nil }.map { Change(.removed, $0.value) }
        return gone.sorted { $0.value.id < $1.value.id } + news.sorted { $0.value.id < $1.value.id }
    }
}
