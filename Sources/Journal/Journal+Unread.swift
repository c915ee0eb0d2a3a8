import GRDB
public import Routing

/// What nobody has seen.
extension Journal {
    /// How many events at or below a topic nobody has seen to: undecided, shown, or muted or expired and not marked as read.
    public func unread(_ topic: TopicPrefix) throws(JournalError) -> Int {
        try read { db in
            // Spelled as the indexes are, one for what is undecided and one for what is decided.
            try ["outcome = 0", "outcome BETWEEN 1 AND 9"].reduce(0) { sum, unread in
                let all = "SELECT count(*) FROM event WHERE \(unread)"
                if topic == .all { return sum + (try Int.fetchOne(db, sql: all) ?? 0) }
                let texts = Self.texts(atOrBelow: topic)
                let count = try Int.fetchOne(
                    db, sql: "SELECT (\(all) AND topic = ?) + (\(all) AND topic > ? AND topic < ?)",
                    arguments: [texts.topic, texts.above, texts.below])
                return sum + (count ?? 0)
            }
        }
    }

    /// How far the events that nobody has seen were looked through: by topics in the order of their bytes, and by ids.
    public struct UnreadPosition: Sendable, Equatable {
        public var topic: String
        public var id: EventID

        /// Before everything at or below a topic.
        public init(before topic: TopicPrefix) {
            self.topic = topic == .all ? "" : topic.description
            id = EventID(0)
        }

        public init(_ topic: String, _ id: EventID) {
            self.topic = topic
            self.id = id
        }
    }

    /// Events at or below a topic, with ids up to `last`, that are decided and that nobody has seen: a few of them.
    ///
    /// - Parameter limit: how many events and how many topics are looked at.
    /// - Returns: the events, and where to go on; `nil` where there is no more.
    public func unseen(
        _ topic: TopicPrefix, after position: UnreadPosition, upTo last: EventID, limit: Int
    ) throws(JournalError) -> (events: [StoredEvent], position: UnreadPosition?) {
        try read { db in
            var position = position
            var events: [StoredEvent] = []
            for _ in 0..<limit {
                let rows = try Row.fetchCursor(
                    db.cachedStatement(sql: Self.unseenOfTopic),
                    arguments: [
                        position.topic, Self.number(position.id), Self.bound(last), limit - events.count,
                    ])
                while let event = try next(rows, { try RowReader($0).event() }) {
                    events.append(event)
                    position.id = event.id
                }
                if events.count >= limit { return (events, position) }
                guard let following = try nextUnseenTopic(position.topic, atOrBelow: topic, db) else {
                    return (events, nil)
                }
                position = UnreadPosition(following, EventID(0))
            }
            return (events, position)
        }
    }

    /// Spelled as the index is.
    static let unseenOfTopic = """
        SELECT * FROM event INDEXED BY event_unread
        WHERE outcome BETWEEN 1 AND 9 AND topic = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?
        """
    static let nextUnseen = """
        SELECT topic FROM event INDEXED BY event_unread
        WHERE outcome BETWEEN 1 AND 9 AND topic > ? AND topic < ? ORDER BY topic LIMIT 1
        """

    private func nextUnseenTopic(
        _ topic: String, atOrBelow prefix: TopicPrefix, _ db: Database
    ) throws -> String? {
        let texts = Self.texts(atOrBelow: prefix)
        // Behind the topic itself may lie its siblings, and only then what is below it. "0" is behind every topic.
        let isBelow = prefix == .all || topic.utf8.starts(with: texts.above.utf8)
        let start = isBelow ? topic : texts.above
        let end = prefix == .all ? "0" : texts.below
        return try String.fetchOne(db.cachedStatement(sql: Self.nextUnseen), arguments: [start, end])
    }
}
