import GRDB
public import Routing

/// Reading events back. A row that is not what was written is left out and counted.
extension Journal {
    /// The most events that one page holds, whatever was asked for.
    public static var pageLimit: Int { 1000 }

    /// What the events of a page take in memory at most, where there is more than one: nothing else is done while a page is
    /// read.
    public static var pageBytes: Int { 256 << 10 }

    /// The most that a snapshot holds, in bytes of its events in memory: a message is limited, and so is memory.
    public static var answerLimit: Int { 16 << 20 }

    /// Events at or below a topic with an id above `after`, in ascending order. A page is only empty when there is no more.
    public func history(_ topic: TopicPrefix, after: EventID, limit: Int) throws(JournalError) -> [StoredEvent] {
        let limit = min(max(limit, 0), Self.pageLimit)
        return try read { db in
            let rows = try Row.fetchCursor(
                db.cachedStatement(sql: Self.historyQuery(topic)), arguments: Self.historyArguments(topic, after: after)
            )
            var events: [StoredEvent] = []
            var size = 0
            while events.count < limit, let event = try next(rows, { try RowReader($0).event() }) {
                size += event.footprint
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

    /// As the file spells topics: the topic itself, and the two texts between which everything below it lies, for "0" is the
    /// character behind "/".
    static func texts(atOrBelow topic: TopicPrefix) -> (topic: String, above: String, below: String) {
        let text = topic.description
        return (text, text + "/", text + "0")
    }

    /// Events are looked up for values and not the other way round, which SQLite takes to be as good.
    static let valueQuery = """
        SELECT event.* FROM value CROSS JOIN event
            ON event.id = value.event AND event.topic = value.topic AND event.retained
        ORDER BY event.id
        """

    /// Which event is the current value of a topic.
    public struct ValueEntry: Sendable {
        public let topic: String
        public let id: EventID

        public init(topic: String, id: EventID) {
            self.topic = topic
            self.id = id
        }
    }

    /// Which values there are at or below a topic, in ascending order of their ids; their events are read by
    /// `values(_:bytes:)`.
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

    /// The events of some values, from the first one on, also where the topics have other values now.
    ///
    /// - Parameter bytes: what the events take in memory at most, where there is more than one.
    /// - Returns: the events, and of how many values; what an entry points to and is no value is left out.
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
                    size += event.footprint
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
            // A value that points nowhere was not written by us.
            let known = events.count + Int(self.damagedRows - damagedBefore)
            let all = try Int.fetchOne(db, sql: "SELECT count(*) FROM value") ?? 0
            self.damagedRows += UInt64(max(0, all - known))
            return events.filter { topic.covers($0.topic) }
        }
    }

    /// One event, or `nil` where it was never accepted or is too old.
    public func event(_ id: EventID) throws(JournalError) -> StoredEvent? {
        try read { db in
            try self.events(db, "SELECT * FROM event WHERE id = ?", [Self.bound(id)]).first
        }
    }

    /// The steps of claims on an event beside the claim that decided it, in their order.
    public func claims(on id: EventID) throws(JournalError) -> [ClaimRecord] {
        try read { db in
            let rows = try Row.fetchCursor(
                db, sql: "SELECT * FROM claim WHERE event = ? ORDER BY number", arguments: [Self.number(id)])
            return try first(.max, of: rows) { try RowReader($0).claim(of: id) }
        }
    }

    /// Other events that are shown in the same banner of the same server, as files older than `banner` know it.
    public func othersShown(with id: EventID, banner: UInt32, server: String) throws(JournalError) -> Bool {
        try read { db in
            try Bool.fetchOne(db, sql: Self.othersShownQuery, arguments: [banner, server, Self.number(id)]) ?? false
        }
    }

    static let othersShownQuery =
        "SELECT EXISTS (SELECT 1 FROM event WHERE outcome = 1 AND banner = ? AND server = ? AND id <> ?)"

    // MARK: For a start

    /// Without a word SQLite would look at the whole history, because that is in the order of the ids.
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

    /// The ids of undecided events in ascending order, damaged ones included.
    public func undecidedIDs() throws(JournalError) -> [EventID] {
        try read { db in
            try Int64.fetchAll(db, sql: "SELECT id \(Self.undecidedRows)")
                .map { EventID(UInt64(bitPattern: $0)) }
        }
    }

    /// Those of some events that are still undecided, in the same order.
    public func undecided(_ ids: some Sequence<EventID>) throws(JournalError) -> [StoredEvent] {
        try read { db in
            try ids.flatMap { id in
                try self.events(db, "SELECT * FROM event WHERE id = ? AND outcome = 0", [Self.number(id)])
            }
        }
    }

    /// Where the names begin that are remembered: those that may be younger than a repeat is recognised, and of these the
    /// last so many. Names have higher ids than this one.
    public func firstName(last limit: Int) throws(JournalError) -> EventID {
        let oldest = newestID(olderThan: limits.repeatMemory)
        return try read { db in
            let sql = """
                SELECT id FROM event WHERE source IS NOT NULL AND source_id IS NOT NULL AND id > ?
                ORDER BY id DESC LIMIT 1 OFFSET ?
                """
            let first = try Int64.fetchOne(db, sql: sql, arguments: [oldest, limit])
            return EventID(UInt64(bitPattern: first ?? oldest))
        }
    }

    /// What was named by its publisher, in the order in which it was accepted. A page is only shorter than its limit at the
    /// end.
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

    /// The highest id that was ever given out, as far as the file knows.
    public func lastID() throws(JournalError) -> EventID {
        try read { db in
            // A damaged id could leave none above it, but so many of them are not damaged ids.
            let newest = try Row.fetchCursor(db, sql: "SELECT * FROM event ORDER BY id DESC LIMIT 100")
            var lowest = EventID(0)
            let last = try next(newest) { row in
                lowest = EventID(UInt64(bitPattern: row[0]))
                return try RowReader(row).event()
            }
            let removal = try Int64.fetchOne(db, sql: "SELECT id FROM last_removal") ?? 0
            let event = last?.id ?? lowest
            return (0..<1 << 62).contains(removal) ? max(event, EventID(UInt64(removal))) : event
        }
    }

    // MARK: Rows

    func events(_ db: Database, _ sql: String, _ arguments: StatementArguments) throws -> [StoredEvent] {
        let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
        return try first(.max, of: rows) { try RowReader($0).event() }
    }

    /// So many of the rows that are what was written, or as many as there are.
    func first<Element>(
        _ limit: Int, of rows: RowCursor, _ read: (Row) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        while elements.count < limit, let element = try next(rows, read) { elements.append(element) }
        return elements
    }

    /// The next row that is what was written. Those that are not are passed over, and counted.
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
