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
                CREATE TABLE record (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
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
