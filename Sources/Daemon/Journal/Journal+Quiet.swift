import GRDB
import Routing

/// The pause, the mutes and the lifted schedules, which survive a restart. They are few, and are replaced together.
extension Journal {
    func replaceQuiet(_ quiet: [StoredQuiet], _ db: Database) throws {
        try FastStatement.run(db, "DELETE FROM quiet")
        var row = try FastStatement(
            db,
            """
            INSERT INTO quiet (topic, cause, ends, ends_uptime, boot, remaining, checksum, began)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
        )
        for quiet in quiet {
            row.bind(quiet.topic.description)
            row.bind(quiet.cause.rawValue)
            row.bind(quiet.end?.moment.wall)
            row.bind(quiet.end?.moment.uptime)
            row.bind(quiet.end?.moment.boot)
            row.bind(quiet.end?.left)
            row.bind(quiet.checksum)
            row.bind(quiet.began)
            try row.run()
        }
    }

    /// The stored pause, mutes and lifted schedules, in any order.
    public func quiet() throws(JournalError) -> [StoredQuiet] {
        try read { db in
            let rows = try Row.fetchCursor(db, sql: "SELECT * FROM quiet")
            return try first(.max, of: rows) { try RowReader($0).quiet() }
        }
    }
}
