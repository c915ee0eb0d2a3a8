import GRDB
public import Routing

/// Unread events: undecided, shown, or muted or expired and not marked as read.
extension Journal {
    /// Counting this number takes less than a millisecond.
    public static var unreadPortion: Int { 2000 }

    /// Counts some of the unread events. Each event counts once, in the state it has when the count reaches it.
    ///
    /// - Parameter limit: about how many events are counted.
    /// - Returns: the count, and the position to continue from; `nil` at the end.
    public func unread(
        _ topic: TopicPrefix, after position: UnreadPosition, limit: Int
    ) throws(JournalError) -> (count: Int, position: UnreadPosition?) {
        try read { db in
            let number = Self.number(position.id)
            if let end = try Self.unreadIndexes.compactMap({ index in
                try Int64.fetchOne(
                    db.cachedStatement(
                        sql: "SELECT id \(index) AND topic = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?"),
                    arguments: [position.topic, number, limit])
            }).min() {
                let count = try Self.count(db, "topic = ? AND id > ? AND id <= ?", [position.topic, number, end])
                return (count, UnreadPosition(position.topic, EventID(UInt64(bitPattern: end))))
            }
            let rest = try Self.count(db, "topic = ? AND id > ?", [position.topic, number])
            let (start, end) = Self.topics(behind: position.topic, atOrBelow: topic)
            let next = try Self.unreadIndexes.compactMap { index in
                try String.fetchOne(
                    db.cachedStatement(
                        sql: "SELECT topic \(index) AND topic > ? AND topic < ? ORDER BY topic LIMIT 1 OFFSET ?"),
                    arguments: [start, end, limit])
            }.min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            let count = try Self.count(db, "topic > ? AND topic < ?", [start, next ?? end])
            return (rest + count, next.map { UnreadPosition($0, EventID(0)) })
        }
    }

    /// The ids of some unread events: those of one index after the other, each by topics and ids.
    ///
    /// - Parameter limit: the greatest number of ids and of topics that are looked at.
    /// - Returns: the ids, and the position to continue from; `nil` at the end.
    public func unreadIDs(
        _ topic: TopicPrefix, after position: UnreadPosition, limit: Int
    ) throws(JournalError) -> (ids: [EventID], position: UnreadPosition?) {
        try read { db in
            var ids: [EventID] = []
            var next = try walk(
                topic, after: position, limit: limit, "id", Self.unreadIndexes[position.index], EventID(.max), db
            ) { row in
                ids.append(EventID(UInt64(bitPattern: row[0])))
                return true
            }
            if next == nil, position.index + 1 < Self.unreadIndexes.count {
                next = UnreadPosition(before: topic)
                next?.index = position.index + 1
            }
            return (ids, next)
        }
    }

    // The conditions match the indexes literally.
    static let undecidedIndex = "FROM event INDEXED BY event_undecided WHERE outcome = 0"
    static let decidedIndex = "FROM event INDEXED BY event_unread WHERE outcome BETWEEN 1 AND 9"
    static let topicIndex = "FROM event INDEXED BY event_topic WHERE TRUE"
    private static let unreadIndexes = [undecidedIndex, decidedIndex]

    private static func count(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> Int {
        try unreadIndexes.reduce(0) { sum, index in
            let statement = try db.cachedStatement(sql: "SELECT count(*) \(index) AND \(condition)")
            return sum + (try Int.fetchOne(statement, arguments: arguments) ?? 0)
        }
    }

    /// A position among the events at or below a topic: by topics in the order of their bytes, then by ids.
    public struct UnreadPosition: Sendable, Equatable {
        public var topic: String
        public var id: EventID
        /// Whether events before it may have come into the index since `forget` began with the first topic.
        var isIncomplete = false
        /// Which of the indexes of unread events `unreadIDs` walks through.
        fileprivate var index = 0

        /// The position before everything at or below a topic.
        public init(before topic: TopicPrefix) {
            self.topic = Journal.texts(atOrBelow: topic).topic
            id = EventID(0)
        }

        public init(_ topic: String, _ id: EventID) {
            self.topic = topic
            self.id = id
        }
    }

    /// Some of the decided and unread events at or below a topic with ids up to `last`.
    ///
    /// - Parameter limit: the greatest number of events and of topics that are read.
    /// - Returns: the events, and the position to continue from; `nil` at the end.
    public func unseen(
        _ topic: TopicPrefix, after position: UnreadPosition, upTo last: EventID, limit: Int
    ) throws(JournalError) -> (events: [StoredEvent], position: UnreadPosition?) {
        try read { db in
            var events: [StoredEvent] = []
            let end = try walk(topic, after: position, limit: limit, "*", Self.decidedIndex, last, db) { row in
                do { events.append(try EventState(row).event) } catch { self.damagedRows += 1 }
                return true
            }
            return (events, end)
        }
    }

    /// Goes through events at or below a topic: topic by topic, and the events of each by their ids.
    ///
    /// - Parameters:
    ///   - limit: the greatest number of events and of topics.
    ///   - columns: what `body` needs of each; the first column is the id.
    ///   - index: which events.
    ///   - last: the last id.
    ///   - body: takes a row, and says whether to go on.
    /// - Returns: the position to continue from; `nil` at the end.
    func walk(
        _ topic: TopicPrefix, after start: UnreadPosition, limit: Int, _ columns: String, _ index: String,
        _ last: EventID, _ db: Database, _ body: (Row) throws -> Bool
    ) throws -> UnreadPosition? {
        var position = start
        var examined = 0
        while true {
            let rows = try rows(
                db, Self.eventsOfTopic(columns, index),
                [position.topic, Self.number(position.id), Self.bound(last), limit - examined])
            while let row = try rows.next() {
                position.id = EventID(UInt64(bitPattern: row[0]))
                examined += 1
                if try !body(row) { return position }
            }
            if examined >= limit { return position }
            let (start, end) = Self.topics(behind: position.topic, atOrBelow: topic)
            let next = try db.cachedStatement(sql: Self.nextTopic(index))
            let following = try String.fetchOne(next, arguments: [start, end])
            guard let following else { return nil }
            (position.topic, position.id) = (following, EventID(0))
            examined += 1
        }
    }

    static func eventsOfTopic(_ columns: String, _ index: String) -> String {
        "SELECT \(columns) \(index) AND topic = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?"
    }

    static func nextTopic(_ index: String) -> String {
        "SELECT topic \(index) AND topic > ? AND topic < ? ORDER BY topic LIMIT 1"
    }

    /// The two texts between which all topics lie that come after one topic and are below another.
    static func topics(behind topic: String, atOrBelow prefix: TopicPrefix) -> (start: String, end: String) {
        let texts = Self.texts(atOrBelow: prefix)
        // Siblings may come between a topic and those below it. "0" comes after every topic.
        return (topic.utf8.starts(with: texts.above.utf8) ? topic : texts.above, texts.below)
    }
}
