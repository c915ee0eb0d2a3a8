import GRDB
import Routing

/// The claims of events that have not come yet. There may be many, so each is written and deleted by itself.
extension Journal {
    func insert(_ awaited: StoredAwaited, _ db: Database) throws {
        try delete(awaited: awaited.origin, db)
        let identity = awaited.identity.isEmpty ? nil : FieldCoding.encode(awaited.identity)
        var row = try FastStatement(
            db,
            """
            INSERT INTO awaited (source, source_id, kind, claimant, device, via, identity, ends, ends_uptime, boot,
                remaining, checksum)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        row.bind(awaited.origin.source)
        row.bind(awaited.origin.eventID)
        row.bind(awaited.kind.rawValue)
        row.bind(awaited.claimant)
        row.bind(awaited.place.device)
        row.bind(awaited.place.via)
        row.bind(identity)
        row.bind(awaited.end.moment.wall)
        row.bind(awaited.end.moment.uptime)
        row.bind(awaited.end.moment.boot)
        row.bind(awaited.end.left)
        row.bind(awaited.checksum(identity: identity))
        try row.run()
    }

    /// Deletes the claim of an event that has come, or whose time is over.
    func end(awaited origin: Origin, _ db: Database) throws {
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT * FROM awaited WHERE source = ? AND source_id = ?"),
            arguments: [origin.source, origin.eventID])
        ended += try first(.max, of: rows) { try RowReader($0).awaited() }
        try delete(awaited: origin, db)
    }

    private func delete(awaited origin: Origin, _ db: Database) throws {
        var row = try FastStatement(db, "DELETE FROM awaited WHERE source = ? AND source_id = ?")
        row.bind(origin.source)
        row.bind(origin.eventID)
        try row.run()
    }

    func replaceAwaited(_ all: [StoredAwaited], _ db: Database) throws {
        try FastStatement.run(db, "DELETE FROM awaited")
        for awaited in all { try insert(awaited, db) }
    }

    /// The stored claims of events that have not come yet, in the order in which they were written.
    public func awaited() throws(JournalError) -> [StoredAwaited] {
        try read { db in
            let rows = try Row.fetchCursor(db, sql: "SELECT * FROM awaited ORDER BY number")
            return try first(.max, of: rows) { try RowReader($0).awaited() }
        }
    }
}
