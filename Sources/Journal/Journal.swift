import GRDB
import Glibc
public import Routing

/// What was accepted and what became of it, on disk: SQLite with a write-ahead log and `synchronous=FULL`, so that what a
/// commit returned from survives a power cut.
///
/// It is used from one thread, and every call is synchronous. A commit that failed closes the file: the kernel may have
/// dropped what it could not write, and asking a second time would be answered with a lie. `reopen` starts anew from what is
/// really there.
public final class Journal {
    /// The file's name in the state directory.
    public static let fileName = "events.db"

    public let directory: String
    /// The file that was found damaged at the start and set aside, if there was one.
    public private(set) var setAside: String?
    /// Rows that were not what had been written, and were left out.
    public internal(set) var damagedRows: UInt64 = 0

    /// How many events there are.
    public internal(set) var count = 0

    var queue: DatabaseQueue?
    var path: String { "\(directory)/\(Self.fileName)" }

    /// Opens the journal in a directory, which is made if it is not there.
    ///
    /// A file that is damaged is set aside as `events.db.damaged-TIME` and a fresh one begun; `setAside` says so.
    public init(directory: String) throws(JournalError) {
        self.directory = directory
        try makeDirectory()
        do throws(JournalError) {
            try open()
        } catch .damaged {
            try setDamagedFileAside()
            try open()
        }
    }

    public var isOpen: Bool { queue != nil }

    /// Opens the file again after a failure, and takes events out that were refused although they may be in it.
    public func reopen(without refused: [EventID]) throws(JournalError) {
        close()
        try open()
        guard !refused.isEmpty else { return }
        try write { db in
            for id in refused {
                try db.execute(sql: "DELETE FROM value WHERE event = ?", arguments: [Self.number(id)])
                try db.execute(sql: "DELETE FROM event WHERE id = ?", arguments: [Self.number(id)])
                self.count -= db.changesCount
            }
        }
    }

    public func close() {
        // What could not be closed cannot be used either; the file is opened afresh in any case.
        try? queue?.close()
        queue = nil
    }

    // MARK: Opening

    private func open() throws(JournalError) {
        let isNew = access(path, F_OK) != 0
        do {
            var configuration = Configuration()
            // GRDB would set synchronous=NORMAL after this, were the mode set by its own option.
            configuration.prepareDatabase { db in
                try db.execute(
                    sql: """
                        PRAGMA locking_mode = EXCLUSIVE;
                        PRAGMA synchronous = \(isNew ? "EXTRA" : "FULL");
                        PRAGMA journal_mode = WAL;
                        PRAGMA wal_autocheckpoint = 1000;
                        PRAGMA journal_size_limit = 4194304;
                        PRAGMA cache_size = -4096;
                        """)
            }
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            chmod(path, 0o600)
            try queue.read { db in
                if try JournalSchema.migrator.hasBeenSuperseded(db) { throw JournalError.tooNew }
                guard try String.fetchOne(db, sql: "PRAGMA quick_check(1)") == "ok" else { throw JournalError.damaged }
            }
            try JournalSchema.migrator.migrate(queue)
            if isNew { try makeDurable(queue) }
            try queue.read { db in
                let level = try Int.fetchOne(db, sql: "PRAGMA synchronous")
                precondition(level == 2, "synchronous=FULL is what every promise rests on")
            }
            count = try queue.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM event") ?? 0 }
            self.queue = queue
        } catch {
            throw JournalError(error)
        }
    }

    /// A file that was just made, its tables and its name in the directory are on disk before anything is promised.
    private func makeDurable(_ queue: DatabaseQueue) throws {
        try queue.writeWithoutTransaction { db in
            _ = try db.checkpoint(.truncate)
            try db.execute(sql: "PRAGMA synchronous = FULL")
        }
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw JournalError.readOnly }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw JournalError.inputOutput }
    }

    private func makeDirectory() throws(JournalError) {
        var path = ""
        for part in directory.split(separator: "/", omittingEmptySubsequences: true) {
            path += "/" + part
            guard mkdir(path, 0o700) != 0, errno != EEXIST else { continue }
            if errno == ENOSPC { throw .diskFull }
            guard access(path, F_OK) == 0 else { throw .readOnly }
        }
    }

    private func setDamagedFileAside() throws(JournalError) {
        close()
        let name = "\(path).damaged-\(time(nil))"
        guard rename(path, name) == 0 else { throw .readOnly }
        for suffix in ["-wal", "-shm"] { rename(path + suffix, name + suffix) }
        setAside = name
    }

    // MARK: Access

    /// Runs a transaction. When it fails, the journal is closed.
    func write<Result>(_ body: (Database) throws -> Result) throws(JournalError) -> Result {
        guard let queue else { throw .other("the journal is closed") }
        do {
            return try queue.write(body)
        } catch {
            close()
            throw JournalError(error)
        }
    }

    func read<Result>(_ body: (Database) throws -> Result) throws(JournalError) -> Result {
        guard let queue else { throw .other("the journal is closed") }
        do {
            return try queue.read(body)
        } catch {
            throw JournalError(error)
        }
    }

    /// Ids are microseconds since the epoch and counting: they never reach the sign bit.
    static func number(_ id: EventID) -> Int64 { Int64(bitPattern: id.rawValue) }
}
