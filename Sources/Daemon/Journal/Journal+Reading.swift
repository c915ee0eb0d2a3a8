import GRDB
public import Routing

/// Reading events. Damaged rows are left out and counted.
extension Journal {
    /// The greatest number of events in a page.
    public static var pageLimit: Int { 1000 }

    /// The limit for the events of a page, in bytes of memory; one event may exceed it. The daemon does nothing else while it
    /// reads a page.
    public static var pageBytes: Int { 256 << 10 }

    /// The limit for a snapshot, in bytes of its events in memory.
    public static var answerLimit: Int { 16 << 20 }

    /// Events at or below a topic with an id above `after`, in ascending order. A page is empty only at the end.
    public func history(_ topic: TopicPrefix, after: EventID, limit: Int) throws(JournalError) -> [StoredEvent] {
        let limit = min(max(limit, 0), Self.pageLimit)
        return try read { db in
            let rows = try Row.fetchCursor(
                db.cachedStatement(sql: Self.historyQuery(topic)), arguments: Self.historyArguments(topic, after: after)
            )
            var events: [StoredEvent] = []
            var size = 0
            while events.count < limit, let event = try next(rows, { try RowReader($0).event() }) {
                size += event.memoryCost
                guard size <= Self.pageBytes || events.isEmpty else { break }
                events.append(event)
            }
            return events
        }
    }

    private static func historyQuery(_ topic: TopicPrefix) -> String {
        guard topic != .all else { return "SELECT * FROM event WHERE id > ? ORDER BY id" }
        return """
            SELECT * FROM event WHERE id IN (
                SELECT id FROM event WHERE topic = ? AND id > ?
                UNION SELECT id FROM event WHERE topic > ? AND topic < ? AND id > ?)
            ORDER BY id
            """
    }

    private static func historyArguments(_ topic: TopicPrefix, after: EventID) -> StatementArguments {
        guard topic != .all else { return [bound(after)] }
        let texts = texts(atOrBelow: topic)
        return [texts.topic, bound(after), texts.above, texts.below, bound(after)]
    }

    /// A topic, and the two texts between which all topics below it lie: "0" is the character after "/".
    static func texts(atOrBelow topic: TopicPrefix) -> (topic: String, above: String, below: String) {
        let text = topic.description
        return (text, text + "/", text + "0")
    }

    /// CROSS JOIN makes SQLite look up events by values, and not values by events.
    static let valueQuery = """
        SELECT event.* FROM value CROSS JOIN event
            ON event.id = value.event AND event.topic = value.topic AND event.retained
        ORDER BY event.id
        """

    /// The event that is the current value of a topic.
    public struct ValueEntry: Sendable {
        public let topic: String
        public let id: EventID

        public init(topic: String, id: EventID) {
            self.topic = topic
            self.id = id
        }
    }

    /// The current values at or below a topic, in ascending order of their ids. `values(_:bytes:)` reads their events.
    public func valueList(_ topic: TopicPrefix) throws(JournalError) -> [ValueEntry] {
        try read { db in
            let all = "SELECT topic, event FROM value"
            let texts = Self.texts(atOrBelow: topic)
            let rows =
                topic == .all
                ? try Row.fetchCursor(db.cachedStatement(sql: all))
                : try Row.fetchCursor(
                    db.cachedStatement(sql: "\(all) WHERE topic = ? UNION ALL \(all) WHERE topic > ? AND topic < ?"),
                    arguments: [texts.topic, texts.above, texts.below])
            var entries: [ValueEntry] = []
            while let entry = try next(rows, { try RowReader($0).valueEntry() }) { entries.append(entry) }
            return entries.sorted { $0.id < $1.id }
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
            let statement = try db.cachedStatement(sql: "SELECT * FROM event WHERE id = ? AND topic = ? AND retained")
            var events: [StoredEvent] = []
            var size = 0
            var count = 0
            for entry in entries {
                let rows = try Row.fetchCursor(statement, arguments: [Self.number(entry.id), entry.topic])
                if let event = try next(rows, { try RowReader($0).event() }) {
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
        try read { db in
            let damagedBefore = self.damagedRows
            let events = try self.events(db, Self.valueQuery, [])
            // A value without an event is damage.
            let known = events.count + Int(self.damagedRows - damagedBefore)
            let all = try Int.fetchOne(db, sql: "SELECT count(*) FROM value") ?? 0
            self.damagedRows += UInt64(max(0, all - known))
            return events.filter { topic.covers($0.topic) }
        }
    }

    /// One event; `nil` if it was never accepted or was deleted.
    public func event(_ id: EventID) throws(JournalError) -> StoredEvent? {
        try read { db in
            try self.events(db, "SELECT * FROM event WHERE id = ?", [Self.bound(id)]).first
        }
    }

    /// The claim steps of an event in their order, without the claim that decided it.
    public func claims(on id: EventID) throws(JournalError) -> [ClaimRecord] {
        try read { db in
            let rows = try Row.fetchCursor(
                db, sql: "SELECT * FROM claim WHERE event = ? ORDER BY number", arguments: [Self.number(id)])
            return try first(.max, of: rows) { try RowReader($0).claim(of: id) }
        }
    }

    /// Other events in the same banner of the same server, for rows that are older than the table `banner`.
    public func othersShown(with id: EventID, banner: UInt32, server: String) throws(JournalError) -> Bool {
        try read { db in
            try Bool.fetchOne(db, sql: Self.othersShownQuery, arguments: [banner, server, Self.number(id)]) ?? false
        }
    }

    static let othersShownQuery = """
        SELECT EXISTS (
            SELECT 1 FROM event INDEXED BY event_unread
            WHERE outcome BETWEEN 1 AND 9 AND outcome = 1 AND banner = ? AND server = ? AND id <> ?)
        """

    // MARK: For a start

    /// The hint keeps SQLite from scanning the whole history in the order of the ids.
    static let undecidedRows = "FROM event INDEXED BY event_undecided WHERE outcome = 0 ORDER BY id"

    /// Undecided events at or below a topic, in the order of their ids.
    public func undecided(_ topic: TopicPrefix = .all) throws(JournalError) -> [StoredEvent] {
        try read { db in
            if topic == .all { return try self.events(db, "SELECT * \(Self.undecidedRows)", []) }
            let texts = Self.texts(atOrBelow: topic)
            return try self.events(
                db,
                """
                SELECT * FROM event WHERE outcome = 0 AND (topic = ? OR (topic > ? AND topic < ?)) ORDER BY id
                """, [texts.topic, texts.above, texts.below])
        }
    }

    /// Whether an event with this id exists, damaged or not.
    public func holds(_ id: EventID) throws(JournalError) -> Bool {
        try read { db in
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
        let oldest = newestID(olderThan: limits.deduplicationTime)
        return try read { db in
            let sql = """
                SELECT id FROM event WHERE source IS NOT NULL AND source_id IS NOT NULL AND id > ?
                ORDER BY id DESC LIMIT 1 OFFSET ?
                """
            let first = try Int64.fetchOne(db, sql: sql, arguments: [oldest, limit])
            return EventID(UInt64(bitPattern: first ?? oldest))
        }
    }

    /// The first event with this global id, of any age.
    public func event(named origin: Origin) throws(JournalError) -> EventID? {
        guard let source = origin.source, let name = origin.eventID else { return nil }
        return try read { db in
            // Most names are new, and a row costs much more than a number.
            let known = try db.cachedStatement(sql: Self.knownQuery)
            guard try Int64.fetchOne(known, arguments: [source, name]) != nil else { return nil }
            let rows = try Row.fetchCursor(
                db.cachedStatement(sql: Self.namedQuery), arguments: [source, name])
            return try next(rows) { try RowReader($0).event().id }
        }
    }

    static let knownQuery = "SELECT id FROM event INDEXED BY event_name WHERE source = ? AND source_id = ? LIMIT 1"
    static let namedQuery = """
        SELECT * FROM event INDEXED BY event_name WHERE source = ? AND source_id = ? ORDER BY id
        """

    /// The newest events below an id, newest first.
    public func newest(below id: EventID, limit: Int) throws(JournalError) -> [StoredEvent] {
        try read { db in
            let rows = try Row.fetchCursor(
                db.cachedStatement(sql: "SELECT * FROM event WHERE id < ? ORDER BY id DESC LIMIT ?"),
                arguments: [Self.bound(id), limit])
            return try first(limit, of: rows) { try RowReader($0).event() }
        }
    }

    /// The events and removals with a global id, in the order of acceptance. A page is shorter than its limit only at the end.
    public func named(after id: EventID, limit: Int) throws(JournalError) -> [NamedPush] {
        try read { db in
            let events = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT * FROM event WHERE source IS NOT NULL AND source_id IS NOT NULL AND id > ? ORDER BY id
                        """), arguments: [Self.number(id)])
            let removals = try Row.fetchCursor(
                db.cachedStatement(sql: "SELECT * FROM removal WHERE id > ? ORDER BY id"), arguments: [Self.number(id)])
            let named = try first(limit, of: events) { row in
                let event = try RowReader(row).event()
                return NamedPush(origin: event.origin, id: event.id)
            }
            let removed = try first(limit, of: removals) { try RowReader($0).removal() }
            return Array((named + removed).sorted { $0.id < $1.id }.prefix(limit))
        }
    }

    /// The highest id that was ever assigned, as far as the file knows.
    public func lastID() throws(JournalError) -> EventID {
        try read { db in
            // A damaged id may be so high that no id is left above it.
            let newest = try Row.fetchCursor(db, sql: "SELECT * FROM event ORDER BY id DESC LIMIT 100")
            var lowest = EventID(0)
            let last = try next(newest) { row in
                lowest = EventID(UInt64(bitPattern: row[0]))
                return try RowReader(row).event()
            }
            let removal = try Int64.fetchOne(db, sql: "SELECT id FROM last_removal") ?? 0
            let event = max(last?.id ?? lowest, try self.lastName(db))
            return (0..<1 << 62).contains(removal) ? max(event, EventID(UInt64(removal))) : event
        }
    }

    /// The highest id that identifies a banner, or did so for an event that is still shown. It need not be that of an event.
    private func lastName(_ db: Database) throws -> EventID {
        let banners = try Row.fetchCursor(db, sql: "SELECT * FROM banner ORDER BY first DESC LIMIT 100")
        let banner = try next(banners) { try RowReader($0).banner() }?.first
        let shown = try Row.fetchCursor(db, sql: Self.lastShownQuery)
        let event = try next(shown) { try RowReader($0).event() }?.decision?.shownWith
        return max(banner ?? EventID(0), event ?? EventID(0))
    }

    static let lastShownQuery =
        "SELECT * FROM event WHERE outcome = 1 AND shown_with IS NOT NULL ORDER BY shown_with DESC LIMIT 100"

    // MARK: Rows

    func events(_ db: Database, _ sql: String, _ arguments: StatementArguments) throws -> [StoredEvent] {
        let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
        return try first(.max, of: rows) { try RowReader($0).event() }
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
