import GRDB
import Testing

@testable import Journal

extension Journal {
    /// Flips a bit in what rows of the index hold.
    ///
    /// - Parameter condition: which ones, in SQL.
    func damage(_ table: String, where condition: String = "true") throws {
        try fold()
        let (key, content) = try #require(
            ["event": ("id", "record"), "change": ("number", "record"), "state": ("key", "value")][table])
        try write { db in
            for row in try Row.fetchAll(db, sql: "SELECT \(key), \(content) FROM \(table) WHERE \(condition)") {
                var bytes = try row.bytes(content)
                bytes[bytes.count / 2] ^= 1
                try db.execute(
                    sql: "UPDATE \(table) SET \(content) = ? WHERE \(key) = ?",
                    arguments: [DatabaseValue(blob: bytes), row[key] as DatabaseValue])
            }
        }
    }

    func damage(_ kind: JournalRecord.Code) throws {
        try damage("state", where: "hex(substr(key, 1, 1)) = printf('%02X', \(kind.rawValue))")
    }
}
