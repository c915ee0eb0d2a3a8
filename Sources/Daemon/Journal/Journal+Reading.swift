import GRDB
public import Routing

/// Reading events. Damaged rows are left out and counted.
extension Journal {
    /// The greatest number of events in a page.
    public static var pageLimit: Int { 1000 }

    /// The limit for the events of a page, in bytes of memory; one event may exceed it. The daemon does nothing else
    /// while it reads a page.
    public static var pageBytes: Int { 256 << 10 }

    /// The limit for a snapshot, in bytes of its events in memory.
    public static var answerLimit: Int { 16 << 20 }

    /// Events at or below a topic with an id above `after`, in ascending order. A page is empty only at the end.
    public func history(_ topic: TopicPrefix, after: EventID, limit: Int) throws(JournalError) -> [StoredEvent] {
        let limit = min(max(limit, 0), Self.pageLimit)
        return try read { db in
            let texts = Self.texts(atOrBelow: topic)
            let rows =
                topic == .all
                ? try rows(db, "SELECT * FROM event WHERE id > ? ORDER BY id", [Self.bound(after)])
                : try rows(db, Self.ofTopic, [Self.bound(after), texts.topic, texts.above, texts.below])
            var events: [StoredEvent] = []
            var size = 0
            while events.count < limit, let event = try next(rows, { try EventState($0).event }) {
                size += event.memoryCost
                guard size <= Self.pageBytes || events.isEmpty else { break }
                events.append(event)
            }
            return events
        }
    }

    private static let ofTopic = """
        SELECT * FROM event WHERE id IN (
            SELECT id FROM event WHERE topic = ?2 AND id > ?1
            UNION SELECT id FROM event WHERE topic > ?3 AND topic < ?4 AND id > ?1)
        ORDER BY id
        """

    /// A topic, and the two texts between which all topics below it lie: "0" is the character after "/".
    static func texts(atOrBelow topic: TopicPrefix) -> (topic: String, above: String, below: String) {
        let text = topic == .all ? "" : topic.description
        return (text, text + "/", text + "0")
    }

    /// The event that is the current value of a topic.
    public struct ValueEntry: Sendable {
        public let topic: String
        public let id: EventID

        public init(topic: String, id: EventID) {
            self.topic = topic
            self.id = id
        }

        init(_ row: Row) throws {
            self.init(topic: try row.column("topic"), id: EventID(UInt64(bitPattern: try row.number("id"))))
        }
    }

    static let values = "FROM event INDEXED BY event_value WHERE is_value = 1"

    /// The current values at or below a topic, in ascending order of their ids. `values(_:bytes:)` reads their events.
    public func valueList(_ topic: TopicPrefix) throws(JournalError) -> [ValueEntry] {
        try read { db in
            let texts = Self.texts(atOrBelow: topic)
            let all = "SELECT topic, id \(Self.values)"
            let rows = try rows(
                db, "\(all) AND topic = ? UNION ALL \(all) AND topic > ? AND topic < ?",
                [texts.topic, texts.above, texts.below])
            return try first(.max, of: rows) { try ValueEntry($0) }.sorted { $0.id < $1.id }
        }
    }

    /// The events of some values, in order, also if the topics have other values now.
    ///
    /// - Parameter bytes: the limit for the events, in bytes of memory; one event may exceed it.
    /// - Returns: the events, and the number of values that were read. An entry whose event is not a value is left out.
    public func values(
        _ entries: ArraySlice<ValueEntry>, bytes: Int
    ) throws(JournalError) -> (events: [StoredEvent], count: Int) {
        try read { db in
            var events: [StoredEvent] = []
            var size = 0
            var count = 0
            for entry in entries {
                let rows = try rows(
                    db, "SELECT * FROM event WHERE id = ? AND topic = ?", [Self.number(entry.id), entry.topic])
                if let event = try next(rows, { try EventState($0).event }), event.retained {
                    size += event.memoryCost
                    guard size <= bytes || events.isEmpty else { break }
                    events.append(event)
                }
                count += 1
            }
            return (events, count)
        }
    }

    /// The current values at or below a topic, in ascending order of their ids.
    public func values(_ topic: TopicPrefix) throws(JournalError) -> [StoredEvent] {
        try events("SELECT * \(Self.values) ORDER BY id").filter { topic.covers($0.topic) }
    }

    /// One event; `nil` if it was never accepted or was deleted.
    public func event(_ id: EventID) throws(JournalError) -> StoredEvent? { try state(of: id)?.event }

    /// The same with everything that is known about it.
    public func state(of id: EventID) throws(JournalError) -> EventState? {
        if let waiting = pending.event(id) { return waiting.state }
        func body(_ db: Database) throws -> EventState? {
            try self.next(self.rows(db, "SELECT * FROM event WHERE id = ?", [Self.bound(id)])) { try EventState($0) }
        }
        // The index is filled first where it would not be up to date.
        return try pending.isChanged(id) ? read(body) : readIndex(body)
    }

    // MARK: For a start

    /// The hint keeps SQLite from scanning the whole history in the order of the ids.
    static let undecidedRows = "\(undecidedIndex) ORDER BY id"

    /// Undecided events at or below a topic, in the order of their ids.
    public func undecided(_ topic: TopicPrefix = .all) throws(JournalError) -> [StoredEvent] {
        if topic == .all { return try events("SELECT * \(Self.undecidedRows)") }
        let texts = Self.texts(atOrBelow: topic)
        return try events(
            "SELECT * FROM event WHERE outcome = 0 AND (topic = ? OR (topic > ? AND topic < ?)) ORDER BY id",
            [texts.topic, texts.above, texts.below])
    }

    /// Whether an event with this id exists, damaged or not.
    public func holds(_ id: EventID) throws(JournalError) -> Bool {
        if pending.event(id) != nil { return true }
        return try isIndexed(id)
    }

    func isIndexed(_ id: EventID) throws(JournalError) -> Bool {
        try readIndex { db in
            let statement = try db.cachedStatement(sql: "SELECT id FROM event WHERE id = ?")
            return try Int64.fetchOne(statement, arguments: [Self.bound(id)]) != nil
        }
    }

    /// The ids of undecided events in ascending order, damaged ones included.
    public func undecidedIDs() throws(JournalError) -> [EventID] {
        try read { db in
            try Int64.fetchAll(db, sql: "SELECT id \(Self.undecidedRows)")
                .map { EventID(UInt64(bitPattern: $0)) }
        }
    }

    /// The given events that are still undecided, in the same order.
    public func undecided(_ ids: some Sequence<EventID>) throws(JournalError) -> [StoredEvent] {
        try read { db in
            try ids.flatMap { id in
                try self.events(db, "SELECT * FROM event WHERE id = ? AND outcome = 0", [Self.number(id)])
            }
        }
    }

    /// The id below which global ids are forgotten, because they are too old or too many.
    public func firstName(last limit: Int) throws(JournalError) -> EventID {
        let oldest = retention.newestID(olderThan: limits.deduplicationTime)
        return try read { db in
            let sql = "SELECT id FROM event WHERE name IS NOT NULL AND id > ? ORDER BY id DESC LIMIT 1 OFFSET ?"
            let first = try Int64.fetchOne(db, sql: sql, arguments: [oldest, limit])
            return EventID(UInt64(bitPattern: first ?? oldest))
        }
    }

    /// The first event with this global id, of any age.
    public func event(named origin: Origin) throws(JournalError) -> EventID? {
        guard let source = origin.source, let name = origin.eventID else { return nil }
        let found: EventID? = try readIndex { db in
            // Most names are new, and a row costs much more than a number.
            let known = try db.cachedStatement(sql: "SELECT id \(Self.named) LIMIT 1")
            guard try Int64.fetchOne(known, arguments: [source, name]) != nil else { return nil }
            return try self.next(self.rows(db, "SELECT * \(Self.named) ORDER BY id", [source, name])) {
                try EventState($0).event.id
            }
        }
        return found ?? pending.event(named: origin)
    }

    private static let named = "FROM event INDEXED BY event_name WHERE source = ? AND name = ?"

    /// The newest events below an id, newest first.
    public func newest(below id: EventID, limit: Int) throws(JournalError) -> [StoredEvent] {
        try events("SELECT * FROM event WHERE id < ? ORDER BY id DESC LIMIT ?", [Self.bound(id), limit])
    }

    /// The events and removals with a global id, in the order of acceptance. A page is shorter than its limit only at
    /// the end.
    public func named(after id: EventID, limit: Int) throws(JournalError) -> [NamedPush] {
        try read { db in
            let events = try rows(
                db, "SELECT * FROM event WHERE name IS NOT NULL AND id > ? ORDER BY id", [Self.number(id)])
            let named = try first(limit, of: events) { row in
                let event = try EventState(row).event
                return NamedPush(origin: event.origin, id: event.id)
            }
            let removed = try records(.globalID, after: .globalID(id), limit: limit, db)
                .compactMap { if case .globalID(let push) = $0 { push } else { nil } }
            return Array((named + removed).sorted { $0.id < $1.id }.prefix(limit))
        }
    }

    /// The highest id that was ever assigned, as far as the journal knows.
    public func lastID() throws(JournalError) -> EventID {
        try read { db in
            // A damaged id may be so high that no id is left above it.
            let newest = try Row.fetchCursor(db, sql: "SELECT * FROM event ORDER BY id DESC LIMIT 100")
            var lowest = EventID(0)
            let last = try next(newest) { row in
                lowest = EventID(UInt64(bitPattern: row[0]))
                return try EventState(row).event.id
            }
            // The id that names a banner need not be that of an event.
            var ids = [last ?? lowest] + self.bannersUp.values.map(\.first)
            let shown = try Row.fetchCursor(db, sql: Self.lastShownQuery)
            if let event = try next(shown, { try EventState($0).event }), let first = event.decision?.shownWith {
                ids.append(first)
            }
            if let id = try self.number(.lastID, db), id >= 0 { ids.append(EventID(UInt64(id))) }
            return ids.max() ?? EventID(0)
        }
    }

    static let lastShownQuery = """
        SELECT * FROM event INDEXED BY event_shown_with WHERE shown_with IS NOT NULL ORDER BY shown_with DESC LIMIT 100
        """

    // MARK: Rows

    func events(_ sql: String, _ arguments: StatementArguments = []) throws(JournalError) -> [StoredEvent] {
        try read { db in try self.events(db, sql, arguments) }
    }

    func events(_ db: Database, _ sql: String, _ arguments: StatementArguments) throws -> [StoredEvent] {
        try first(.max, of: rows(db, sql, arguments)) { try EventState($0).event }
    }

    func rows(_ db: Database, _ sql: String, _ arguments: StatementArguments) throws -> RowCursor {
        try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
    }

    /// Up to this number of undamaged rows.
    func first<Element>(
        _ limit: Int, of rows: RowCursor, _ read: (Row) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        while elements.count < limit, let element = try next(rows, read) { elements.append(element) }
        return elements
    }

    /// The next undamaged row. Damaged ones are skipped and counted.
    func next<Element>(_ rows: RowCursor, _ read: (Row) throws -> Element) throws -> Element? {
        while let row = try rows.next() {
            do {
                return try read(row)
            } catch {
                damagedRows += 1
            }
        }
        return nil
    }
}
