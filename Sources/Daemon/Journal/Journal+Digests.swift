import GRDB
public import Routing

/// The periods of schedules that owe a digest, and the events that it counts. The periods are few, and are replaced together.
extension Journal {
    func replaceDigests(_ digests: [OwedDigest], _ db: Database) throws {
        try FastStatement.run(db, "DELETE FROM digest")
        var row = try FastStatement(
            db, "INSERT INTO digest (topic, began, name, event, checksum) VALUES (?, ?, ?, ?, ?)")
        for digest in digests {
            row.bind(digest.period.topic.description)
            row.bind(digest.period.began)
            row.bind(Self.number(digest.name))
            row.bind(Self.number(digest.first))
            row.bind(digest.checksum)
            try row.run()
        }
    }

    /// The stored periods, in any order.
    public func digests() throws(JournalError) -> [OwedDigest] {
        try read { db in
            let rows = try Row.fetchCursor(db, sql: "SELECT * FROM digest")
            return try first(.max, of: rows) { try RowReader($0).digest() }
        }
    }

    /// The unread muted events among the next events above an id.
    ///
    /// - Parameter limit: how many events are looked at, muted or not.
    /// - Returns: the events in the order of their ids, and the id to continue from; `nil` at the end.
    public func muted(
        after id: EventID, limit: Int
    ) throws(JournalError) -> (events: [StoredEvent], position: EventID?) {
        try read { db in
            let number = Self.bound(id)
            let last = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT id FROM event WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"),
                arguments: [number, max(1, limit) - 1])
            let rows = try Row.fetchCursor(
                db.cachedStatement(sql: "SELECT * FROM event WHERE id > ? AND id <= ? AND outcome = ? ORDER BY id"),
                arguments: [number, last ?? .max, StoredDecision(outcome: .muted, resolved: 0).code])
            let events = try first(.max, of: rows) { try RowReader($0).event() }
            return (events, last.map { EventID(UInt64(bitPattern: $0)) })
        }
    }
}

extension OwedDigest {
    var checksum: Int64 {
        var sum = Checksum()
        sum.add(period.topic.description)
        sum.add(period.began)
        sum.add(Journal.number(name))
        sum.add(Journal.number(first))
        return sum.value
    }
}
