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
    /// - Parameter limit: the greatest number of ids.
    /// - Returns: the ids, and the position to continue from; `nil` at the end.
    public func unreadIDs(
        _ topic: TopicPrefix, after position: UnreadIDPosition, limit: Int
    ) throws(JournalError) -> (ids: [EventID], position: UnreadIDPosition?) {
        try read { db in
            let select = "SELECT topic, id \(Self.unreadIndexes[position.index])"
            let last = position.position
            let (start, end) = Self.topics(behind: last.topic, atOrBelow: topic)
            let sameTopic = try Row.fetchCursor(
                db.cachedStatement(sql: "\(select) AND topic = ? AND id > ? ORDER BY id LIMIT ?"),
                arguments: [last.topic, Self.number(last.id), limit])
            var found = try first(.max, of: sameTopic) { try ValueEntry($0) }
            if found.count < limit {
                let otherTopics = try Row.fetchCursor(
                    db.cachedStatement(sql: "\(select) AND topic > ? AND topic < ? ORDER BY topic, id LIMIT ?"),
                    arguments: [start, end, limit - found.count])
                found += try first(.max, of: otherTopics) { try ValueEntry($0) }
            }
            let ids = found.map(\.id)
            if found.count == limit, let last = found.last {
                return (ids, UnreadIDPosition(UnreadPosition(last.topic, last.id), of: position.index))
            }
            guard position.index + 1 < Self.unreadIndexes.count else { return (ids, nil) }
            return (ids, UnreadIDPosition(UnreadPosition(before: topic), of: position.index + 1))
        }
    }

    /// A position among the ids of the unread events.
    public struct UnreadIDPosition: Sendable, Equatable {
        fileprivate var position: UnreadPosition
        fileprivate var index: Int

        /// The position before everything at or below a topic.
        public init(before topic: TopicPrefix) {
            self.init(UnreadPosition(before: topic), of: 0)
        }

        fileprivate init(_ position: UnreadPosition, of index: Int) {
            self.position = position
            self.index = index
        }
    }

    /// The conditions match the indexes literally: one for undecided events, one for decided ones.
    private static let unreadIndexes = [
        "FROM event INDEXED BY event_undecided WHERE outcome = 0",
        "FROM event INDEXED BY event_unread WHERE outcome BETWEEN 1 AND 9",
    ]

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
        /// What was waiting for the index when the walk began; see `Journal.forgetPass`.
        var pass: Int?

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
            let end = try walk(topic, after: position, limit: limit, Self.unseenOfTopic, Self.nextUnseen, last, db) {
                row in
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
    ///   - ofTopic: selects events of a topic above an id and up to `last`; the first column is the id.
    ///   - next: selects the next topic between two texts.
    ///   - body: takes a row, and says whether to go on.
    /// - Returns: the position to continue from; `nil` at the end.
    func walk(
        _ topic: TopicPrefix, after start: UnreadPosition, limit: Int, _ ofTopic: String, _ next: String,
        _ last: EventID, _ db: Database, _ body: (Row) throws -> Bool
    ) throws -> UnreadPosition? {
        var position = start
        var examined = 0
        while true {
            let rows = try rows(
                db, ofTopic, [position.topic, Self.number(position.id), Self.bound(last), limit - examined])
            while let row = try rows.next() {
                position.id = EventID(UInt64(bitPattern: row[0]))
                examined += 1
                if try !body(row) { return position }
            }
            if examined >= limit { return position }
            let (start, end) = Self.topics(behind: position.topic, atOrBelow: topic)
            let following = try String.fetchOne(db.cachedStatement(sql: next), arguments: [start, end])
            guard let following else { return nil }
            (position.topic, position.id) = (following, EventID(0))
            examined += 1
        }
    }

    /// The condition matches the index literally.
    static let unseenOfTopic = """
        SELECT * FROM event INDEXED BY event_unread
        WHERE outcome BETWEEN 1 AND 9 AND topic = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?
        """
    static let nextUnseen = """
        SELECT topic FROM event INDEXED BY event_unread
        WHERE outcome BETWEEN 1 AND 9 AND topic > ? AND topic < ? ORDER BY topic LIMIT 1
        """

    /// The two texts between which all topics lie that come after one topic and are below another.
    static func topics(behind topic: String, atOrBelow prefix: TopicPrefix) -> (start: String, end: String) {
        let texts = Self.texts(atOrBelow: prefix)
        // Siblings may come between a topic and those below it. "0" comes after every topic.
        return (topic.utf8.starts(with: texts.above.utf8) ? topic : texts.above, texts.below)
    }
}
