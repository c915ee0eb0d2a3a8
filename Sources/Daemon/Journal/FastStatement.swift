import GRDB
import GRDBSQLite

/// A prepared statement of GRDB. Values are bound from left to right, without a copy.
///
/// GRDB boxes each value, which costs more than the row itself. The statements of the hot path use this instead. See
/// sqlite3_bind(3) and sqlite3_step(3).
struct FastStatement {
    private let statement: Statement
    private var position: Int32 = 0

    /// - Parameter sql: text that never changes: the statement is prepared once and kept.
    init(_ database: Database, _ sql: String) throws {
        statement = try database.cachedStatement(sql: sql)
    }

    mutating func bind(_ number: Int64?) {
        position += 1
        if let number {
            sqlite3_bind_int64(statement.sqliteStatement, position, number)
        } else {
            sqlite3_bind_null(statement.sqliteStatement, position)
        }
    }

    mutating func bind(_ text: String?) {
        position += 1
        guard var text else {
            sqlite3_bind_null(statement.sqliteStatement, position)
            return
        }
        text.withUTF8 { bytes in
            _ = bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_bind_text(statement.sqliteStatement, position, $0.baseAddress, Int32($0.count), Self.copied)
            }
        }
    }

    mutating func bind(_ bytes: [UInt8]?) {
        position += 1
        guard let bytes else {
            sqlite3_bind_null(statement.sqliteStatement, position)
            return
        }
        if bytes.isEmpty {
            // A null pointer would bind NULL.
            sqlite3_bind_zeroblob(statement.sqliteStatement, position, 0)
        } else {
            sqlite3_bind_blob(statement.sqliteStatement, position, bytes, Int32(bytes.count), Self.copied)
        }
    }

    /// Executes a statement without values.
    static func run(_ database: Database, _ sql: String) throws {
        var statement = try FastStatement(database, sql)
        try statement.run()
    }

    /// Executes the statement, which answers no rows; then values can be bound again.
    mutating func run() throws {
        let code = sqlite3_step(statement.sqliteStatement)
        sqlite3_reset(statement.sqliteStatement)
        position = 0
        guard code == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    /// SQLITE_TRANSIENT, which C defines with a cast that Swift does not see.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}
