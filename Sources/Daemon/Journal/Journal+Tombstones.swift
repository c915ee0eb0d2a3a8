import GRDB
public import Routing

/// Removals of values that are remembered, so that an older value does not come back: the last one of each topic.
extension Journal {
    /// In the order of the removals.
    public func tombstones() throws(JournalError) -> [Tombstone] {
        try read { db in
            let rows = try Row.fetchCursor(db, sql: "SELECT * FROM tombstone ORDER BY removal")
            return try first(.max, of: rows) { try RowReader($0).tombstone() }
        }
    }

    /// Writes what the file does not have, for example because it is a new one.
    func insertMissing(_ tombstones: [Tombstone], _ db: Database) throws {
        for tombstone in tombstones {
            let present = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT max(removal) FROM tombstone WHERE topic = ?"),
                arguments: [tombstone.topic.description])
            if present ?? 0 < Self.number(tombstone.removal) { try insert(tombstone, db) }
        }
    }

    /// Takes the place of the topic's earlier one. Those that are too old or too many are deleted.
    func insert(_ tombstone: Tombstone, _ db: Database) throws {
        let (version, topic) = (tombstone.version, tombstone.topic.description)
        try db.cachedStatement(sql: "DELETE FROM tombstone WHERE topic = ?").execute(arguments: [topic])
        tombstoneCount += 1 - db.changesCount
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO tombstone (topic, removal, published, event, source, source_id, checksum)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
                topic, Self.number(tombstone.removal), version.published, Self.number(version.id),
                version.origin.source, version.origin.eventID, tombstone.checksum,
            ])
        let isFull = tombstoneCount > limits.removals
        try db.cachedStatement(
            sql: """
                DELETE FROM tombstone WHERE removal IN (
                    SELECT removal FROM tombstone WHERE removal <= ? ORDER BY removal LIMIT ?)
                """
        ).execute(
            arguments: isFull
                ? [Int64.max, tombstoneCount - limits.removals] : [newestID(olderThan: limits.removalTime), 2])
        tombstoneCount -= db.changesCount
    }
}

extension Tombstone {
    fileprivate var checksum: Int64 {
        var sum = Checksum()
        sum.add(topic.description)
        for number in [Journal.number(removal), version.published, Journal.number(version.id)] { sum.add(number) }
        for text in [version.origin.source, version.origin.eventID] { sum.add(text) }
        return sum.value
    }
}

extension RowReader {
    func tombstone() throws -> Tombstone {
        let version = ValueVersion(
            published: try number("published"), id: try id("event"),
            origin: Origin(source: try optionalText("source"), eventID: try optionalText("source_id")))
        let tombstone = Tombstone(
            topic: try Topic(text("topic")), version: version, removal: try id("removal"))
        guard tombstone.checksum == (try number("checksum")) else { throw Damaged() }
        return tombstone
    }
}
