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
    /// For copies of the texts and bytes that are bound, until the statement is executed.
    private var memory: Memory?
    private var count = 0

    /// Belongs to one statement.
    final class Memory {
        fileprivate let start = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)

        deinit { start.deallocate() }
    }

    /// - Parameter memory: what an earlier use of the statement has allocated.
    init(_ statement: Statement, memory: Memory? = nil) {
        self.statement = statement
        self.memory = memory
    }

    /// - Parameter sql: text that never changes: the statement is prepared once and kept.
    init(_ database: Database, _ sql: String) throws {
        self.init(try database.cachedStatement(sql: sql))
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
        let memory = memory ?? Memory()
        self.memory = memory
        let copy = memory.start + count
        // An empty array has no address.
        if let start = bytes.baseAddress { copy.copyMemory(from: start, byteCount: bytes.count) }
        count += bytes.count
        return UnsafeRawPointer(copy)
    }

    /// SQLITE_TRANSIENT, which C defines with a cast that Swift does not see. SQLITE_STATIC is a null pointer.
    private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    /// Executes a statement without values.
    static func run(_ database: Database, _ sql: String) throws {
        try run(database.cachedStatement(sql: sql))
    }

    /// Executes a statement without values.
    static func run(_ statement: Statement) throws {
        var statement = FastStatement(statement)
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

/// What every transaction executes, prepared once for a connection. GRDB looks statements up by their text, which is long.
final class UsualStatements {
    let begin: Statement
    let commit: Statement
    private let insertion: Statement
    private let insertedTexts = FastStatement.Memory()
    private let update: Statement
    private let updatedTexts = FastStatement.Memory()

    init(_ database: Database) throws {
        begin = try database.cachedStatement(sql: "BEGIN IMMEDIATE TRANSACTION")
        commit = try database.cachedStatement(sql: "COMMIT TRANSACTION")
        insertion = try database.cachedStatement(sql: Journal.insertion)
        update = try database.cachedStatement(sql: Journal.update)
    }

    func inserting() -> FastStatement { FastStatement(insertion, memory: insertedTexts) }
    func updating() -> FastStatement { FastStatement(update, memory: updatedTexts) }
}
