internal import GRDBSQLite
import Glibc
import UserFiles

/// Opens the file of a ``BridgeStore``.
enum StoreFile {
    /// The version of the tables.
    private static let version: Int64 = 1
    /// "ndbr", in the header of the file: it tells the file from those of other programs.
    private static let application: Int64 = 0x6E64_6272

    /// - Throws: an error with `isDamage` if it is not such a file, or not any more.
    static func open(_ path: String) throws(StoreError) -> SQLiteFile {
        for name in [path, path + "-wal", path + "-shm"] {
            if let obstacle = FileKind.obstacle(at: name) {
                throw StoreError(.unavailable, "\(name) is \(obstacle), not a regular file; move it away")
            }
            // SQLite gives its log the mode of the file.
            chmod(name, 0o600)
        }
        let file = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        if file >= 0 { close(file) }
        guard hasUsableFormat(path) else { throw StoreError(.damage, "the file is damaged") }
        let database = try SQLiteFile(path)
        try database.run(
            """
            PRAGMA locking_mode = EXCLUSIVE;
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = FULL;
            PRAGMA journal_size_limit = 1048576;
            PRAGMA cache_size = -256;
            PRAGMA secure_delete = ON;
            """)
        try database.transaction(check)
        return database
    }

    /// Whether SQLite can write the format that the header names. A file of another one it would open for reading only,
    /// or not at all, without a word of damage. [Header](https://www.sqlite.org/fileformat2.html#the_database_header)
    private static func hasUsableFormat(_ path: String) -> Bool {
        guard let header = try? FileKind.read(path, atMost: 48), header.count == 48 else { return true }
        let writing = header[18]
        let reading = header[19]
        let schema = header[44..<48]
        return (1...2).contains(writing) && (1...2).contains(reading) && schema.dropLast().allSatisfy { $0 == 0 }
            && schema.last! <= 4
    }

    private static func check(_ database: SQLiteFile) throws(StoreError) {
        var tables: Set<String> = []
        var isSound = false
        try database.rows("PRAGMA quick_check(1)") { row in
            isSound = row.text(0) == "ok"
            return false
        }
        guard isSound else { throw StoreError(.damage, "the file is damaged") }
        let application = try database.integer("PRAGMA application_id")
        let version = try database.integer("PRAGMA user_version") ?? 0
        try database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'") { row in
            tables.insert(row.text(0))
            return true
        }
        if tables.isEmpty, version == 0 {
            return try database.run(
                """
                CREATE TABLE record (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL, sum INTEGER \
                NOT NULL) WITHOUT ROWID;
                CREATE TABLE letter (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, topic TEXT,
                    origin TEXT NOT NULL, reason TEXT NOT NULL, content BLOB NOT NULL);
                PRAGMA application_id = \(Self.application);
                PRAGMA user_version = \(Self.version);
                """)
        }
        guard application == Self.application else { throw StoreError(.damage, "the file is that of another program") }
        guard version <= Self.version else {
            throw StoreError(
                .tooNew, "the state was written by a newer version; install that one, or move the state away")
        }
        guard tables.isSuperset(of: ["record", "letter"]) else { throw StoreError(.damage, "the file is damaged") }
    }

    /// - Returns: the new name.
    static func setAside(_ path: String) throws(StoreError) -> String {
        var name = "\(path).damaged-\(time(nil))"
        // Two files may be set aside within a second.
        while access(name, F_OK) == 0 { name += "-again" }
        guard rename(path, name) == 0 else {
            throw StoreError(.unavailable, "\(path) is damaged and cannot be renamed")
        }
        for suffix in ["-wal", "-shm"] { rename(path + suffix, name + suffix) }
        return name
    }

    /// Makes a folder with its parents.
    static func makeFolder(_ path: String) throws(StoreError) {
        var current = ""
        for part in path.split(separator: "/") {
            current += "/" + part
            if mkdir(current, 0o700) != 0, errno != EEXIST, access(current, F_OK) != 0 {
                throw StoreError(.unavailable, "\(current) cannot be made: \(String(cString: strerror(errno)))")
            }
        }
    }
}

/// Why the state of a bridge cannot be read or written.
public struct StoreError: Error, Equatable, CustomStringConvertible {
    enum Kind {
        /// The file is damaged. It is set aside at the next start.
        case damage
        /// The disk is full, gives errors, or may not be written.
        case unavailable
        /// It was written by a newer version.
        case tooNew
    }

    let kind: Kind
    /// What is wrong, in a sentence. It holds nothing of what is stored.
    public let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Whether the file is damaged. Then the bridge ends; its next start sets the file aside.
    public var isDamage: Bool { kind == .damage }

    var isTooNew: Bool { kind == .tooNew }
}

/// A connection to an SQLite file. It is not GRDB, as in notifyd, because that needs Foundation: a small static program
/// for release that writes and reads one row has a resident set of 13.2 MiB with GRDB, and of 5.9 MiB with SQLite
/// alone.
///
/// Errors hold the messages of SQLite and never the values of a statement.
/// [SQLite](https://sqlite.org/c3ref/intro.html)
final class SQLiteFile: @unchecked Sendable {
    // Proof: the store uses it on its loop only, except in `init` and `deinit`, when nobody else has it.

    enum Value {
        case null
        case integer(Int64)
        case text(String)
        case blob([UInt8])
    }

    private var handle: OpaquePointer?
    /// Prepared statements, by their text.
    private var statements: [String: OpaquePointer] = [:]

    init(_ path: String) throws(StoreError) {
        let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK else {
            let error = failure(code)
            close()
            throw error
        }
    }

    deinit { close() }

    func close() {
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Runs statements without values.
    func run(_ text: String) throws(StoreError) {
        try requireOpen()
        let code = sqlite3_exec(handle, text, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// Runs a statement.
    ///
    /// - Returns: how many rows it has changed.
    @discardableResult
    func run(_ text: String, _ values: [Value]) throws(StoreError) -> Int {
        try rows(text, values) { _ in false }
        return Int(sqlite3_changes(handle))
    }

    /// Passes each row of the result, until `body` returns `false`.
    func rows(
        _ text: String, _ values: [Value] = [], _ body: (SQLiteRow) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let statement = try prepared(text)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() {
            let code = Self.bind(value, CInt(index + 1), statement)
            guard code == SQLITE_OK else { throw failure(code) }
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: if try !body(SQLiteRow(statement: statement)) { return }
            case SQLITE_DONE: return
            case let code: throw failure(code)
            }
        }
    }

    /// The first number of the result.
    func integer(_ text: String) throws(StoreError) -> Int64? {
        var result: Int64?
        try rows(text) { row in
            result = row.integer(0)
            return false
        }
        return result
    }

    /// Makes all changes of `body`, or none if it throws.
    func transaction<Result>(_ body: (SQLiteFile) throws(StoreError) -> Result) throws(StoreError) -> Result {
        try run("BEGIN IMMEDIATE")
        do throws(StoreError) {
            let result = try body(self)
            try run("COMMIT")
            return result
        } catch {
            // After some errors SQLite has rolled it back already.
            try? run("ROLLBACK")
            throw error
        }
    }

    private func prepared(_ text: String) throws(StoreError) -> OpaquePointer {
        if let statement = statements[text] { return statement }
        try requireOpen()
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(code) }
        statements[text] = statement
        return statement
    }

    private func requireOpen() throws(StoreError) {
        guard handle != nil else { throw StoreError(.unavailable, "the store is closed") }
    }

    /// SQLite copies what is bound.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private static func bind(_ value: Value, _ index: CInt, _ statement: OpaquePointer) -> CInt {
        switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let number): sqlite3_bind_int64(statement, index, number)
        case .text(let text):
            // The length is given, because a text may hold a NUL.
            text.withCString {
                sqlite3_bind_text64(statement, index, $0, UInt64(text.utf8.count), copied, UInt8(SQLITE_UTF8))
            }
        case .blob(let bytes):
            bytes.isEmpty
                ? sqlite3_bind_zeroblob(statement, index, 0)
                : sqlite3_bind_blob64(statement, index, bytes, UInt64(bytes.count), copied)
        }
    }

    private func failure(_ code: CInt) -> StoreError {
        let text = handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? "error \(code)"
        return StoreError([SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) ? .damage : .unavailable, text)
    }
}

/// A row of a result, for as long as it is the present one.
struct SQLiteRow {
    fileprivate let statement: OpaquePointer

    func integer(_ column: CInt) -> Int64 { sqlite3_column_int64(statement, column) }

    func isNull(_ column: CInt) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    /// The bytes of a text or a blob.
    func bytes(_ column: CInt) -> [UInt8] {
        guard let start = sqlite3_column_blob(statement, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }

    func text(_ column: CInt) -> String { String(decoding: bytes(column), as: UTF8.self) }
}
