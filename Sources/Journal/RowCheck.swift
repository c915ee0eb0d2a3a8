import GRDB

/// A claim is found by its event, and a removal by its time: where these were changed nobody asks for the row, and its
/// checksum is never looked at.
enum RowCheck {
    /// Takes out rows that nobody would find.
    ///
    /// - Parameter isIntact: whether every row was in its place, in tables and indexes alike.
    /// - Returns: how many rows are lost.
    static func check(_ queue: DatabaseQueue, isIntact: Bool) throws -> Int {
        let moved = isIntact ? 0 : try sortClaims(queue) + removeChangedRemovals(queue)
        return try moved + removeStrayClaims(queue)
    }

    /// What is out of order is not found, and `REINDEX` leaves a table without row ids as it is.
    ///
    /// - Returns: how many had the key of another.
    private static func sortClaims(_ queue: DatabaseQueue) throws -> Int {
        try queue.write { db in
            try db.execute(sql: "CREATE TEMP TABLE unsorted AS SELECT * FROM claim")
            let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM unsorted") ?? 0
            try db.execute(sql: "DELETE FROM claim")
            try db.execute(sql: "INSERT OR IGNORE INTO claim SELECT * FROM unsorted")
            let sorted = db.changesCount
            try db.execute(sql: "DROP TABLE unsorted")
            return count - sorted
        }
    }

    private static func removeChangedRemovals(_ queue: DatabaseQueue) throws -> Int {
        try queue.write { db in
            var changed: [Int64] = []
            let rows = try Row.fetchCursor(db, sql: "SELECT * FROM removal")
            while let row = try rows.next() {
                do { _ = try RowReader(row).removal() } catch { changed.append(row["id"]) }
            }
            for id in changed { try db.execute(sql: "DELETE FROM removal WHERE id = ?", arguments: [id]) }
            return changed.count
        }
    }

    /// - Returns: how many belonged to no event.
    private static func removeStrayClaims(_ queue: DatabaseQueue) throws -> Int {
        let isClean = try queue.read { db in try !(Bool.fetchOne(db, sql: findStrayClaims) ?? false) }
        if isClean { return 0 }
        return try queue.write { db in
            try db.execute(sql: "DELETE \(strayClaims)")
            return db.changesCount
        }
    }

    private static let strayClaims = "FROM claim WHERE event NOT IN (SELECT id FROM event)"
    /// Whether there are claims that belong to no event.
    static let findStrayClaims = "SELECT EXISTS (SELECT 1 \(strayClaims))"
}
