import GRDB
import GRDBSQLite

/// A prepared statement of GRDB. Values are bound from left to right.
///
/// GRDB boxes each value, and SQLite allocates memory for each text that it copies; both cost more than the row itself. The
/// statements of the hot path use this instead. See sqlite3_bind(3) and sqlite3_step(3).
struct FastStatement: ~Copyable {
    private static let capacity = 4096

    private let statement: Statement
    private var position: Int32 = 0
    /// Copies of the texts and bytes that are bound, until the statement is executed.
    private var memory: UnsafeMutableRawPointer?
    private var count = 0

    /// - Parameter sql: text that never changes: the statement is prepared once and kept.
    init(_ database: Database, _ sql: String) throws {
        statement = try database.cachedStatement(sql: sql)
    }

    deinit { memory?.deallocate() }

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
            let copy = copy(UnsafeRawBufferPointer(bytes))
            let start = copy ?? UnsafeRawPointer(bytes.baseAddress)
            sqlite3_bind_text(
                statement.sqliteStatement, position, start?.assumingMemoryBound(to: CChar.self), Int32(bytes.count),
                copy == nil ? Self.transient : nil)
        }
    }

    mutating func bind(_ bytes: [UInt8]?) {
        position += 1
        guard let bytes else {
            sqlite3_bind_null(statement.sqliteStatement, position)
            return
        }
        bytes.withUnsafeBytes { bytes in
            let copy = copy(bytes)
            _ = sqlite3_bind_blob(
                statement.sqliteStatement, position, copy ?? bytes.baseAddress, Int32(bytes.count),
                copy == nil ? Self.transient : nil)
        }
    }

    /// - Returns: bytes that stay until the statement is executed; `nil` where there is no room, so that SQLite copies them.
    private mutating func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        guard bytes.count <= Self.capacity - count else { return nil }
        let memory = memory ?? .allocate(byteCount: Self.capacity, alignment: 1)
        self.memory = memory
        let copy = memory + count
        // An empty array has no address.
        if let start = bytes.baseAddress { copy.copyMemory(from: start, byteCount: bytes.count) }
        count += bytes.count
        return UnsafeRawPointer(copy)
    }

    /// SQLITE_TRANSIENT, which C defines with a cast that Swift does not see. SQLITE_STATIC is a null pointer.
    private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

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
        count = 0
        guard code == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}
