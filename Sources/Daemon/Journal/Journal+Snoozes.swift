import GRDB
import Routing

/// The snoozed events, which survive a restart. They are few, and are replaced together.
extension Journal {
    func replaceSnoozes(_ snoozes: [StoredSnooze], _ db: Database) throws {
        try FastStatement.run(db, "DELETE FROM snooze")
        var row = try FastStatement(
            db, "INSERT INTO snooze (event, ends, ends_uptime, boot, remaining, checksum) VALUES (?, ?, ?, ?, ?, ?)")
        for snooze in snoozes {
            row.bind(Self.number(snooze.event))
            row.bind(snooze.end.moment.wall)
            row.bind(snooze.end.moment.uptime)
            row.bind(snooze.end.moment.boot)
            row.bind(snooze.end.left)
            row.bind(snooze.checksum)
            try row.run()
        }
    }

    /// The stored snoozes, in the order of their events.
    public func snoozes() throws(JournalError) -> [StoredSnooze] {
        try read { db in
            let rows = try Row.fetchCursor(db, sql: "SELECT * FROM snooze ORDER BY event")
            return try first(.max, of: rows) { try RowReader($0).snooze() }
        }
    }
}
