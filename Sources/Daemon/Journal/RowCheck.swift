import GRDB

/// Finds rows whose key is damaged. Claims are looked up by event and removals by time, so the checksum of such a row is never
/// read.
enum RowCheck {
    /// Deletes rows that no look-up finds.
    ///
    /// - Parameter isIntact: whether tables and indexes are in order.
    /// - Returns: the number of lost rows.
    static func check(_ queue: DatabaseQueue, isIntact: Bool) throws -> Int {
        let moved = isIntact ? 0 : try sortClaims(queue) + removeChangedRemovals(queue)
        return try moved + removeOrphanedClaims(queue)
    }

    /// Inserts all claims again, in order. `REINDEX` does not sort a table without row ids.
    ///
    /// - Returns: the number of claims with the key of another.
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

    /// - Returns: the number of claims that belonged to no event.
    private static func removeOrphanedClaims(_ queue: DatabaseQueue) throws -> Int {
        let isClean = try queue.read { db in try !(Bool.fetchOne(db, sql: findOrphanedClaims) ?? false) }
        if isClean { return 0 }
        return try queue.write { db in
            try db.execute(sql: "DELETE \(orphanedClaims)")
            return db.changesCount
        }
    }

    private static let orphanedClaims = "FROM claim WHERE event NOT IN (SELECT id FROM event)"
    /// Whether there are claims that belong to no event.
    static let findOrphanedClaims = "SELECT EXISTS (SELECT 1 \(orphanedClaims))"
}
