import GRDB
import GRDBSQLite
import Glibc
import Routing

/// Opening and creating the file.
extension Journal {
    func openOrCreate() throws(JournalError) {
        do throws(JournalError) {
            try open()
        } catch .damaged {
            try setDamagedFileAside()
            try open()
        }
    }

    private func open() throws(JournalError) {
        var opened: DatabaseQueue?
        do {
            try FileCheck.prepare(path)
            measureDisk()
            guard FileCheck.hasUsableHeader(path) else { throw JournalError.damaged }
            var configuration = Configuration()
            // GRDB's own option for WAL mode would set synchronous=NORMAL afterwards.
            configuration.prepareDatabase { [settings] db in
                do {
                    try db.execute(sql: settings)
                } catch {
                    throw JournalError(error, on: db.sqliteConnection)
                }
            }
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            opened = queue
            let (isThere, isComplete) = try JournalSchema.state(of: queue)
            // A file that is migrated is checked first, whatever its size.
            isChecked = !isThere || !isComplete || isSuspect || FileCheck.size(path) <= checkedWhenOpened
            try Self.expectingDamage {
                let isCheckedNow = isThere && isChecked
                let isIntact = try !isCheckedNow || FileCheck.check(queue)
                isSuspect = false
                isCheckpointingPaused = false
                isScrubbing = false
                if !isComplete {
                    try JournalSchema.migrator.migrate(queue)
                    try queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
                }
                try JournalSchema.verify(queue)
                if isCheckedNow { damagedRows += UInt64(try RowCheck.check(queue, isIntact: isIntact)) }
            }
            // The process that made the file may have crashed before its name was on the disk.
            try sync(directory)
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = FULL")
                let level = try Int.fetchOne(db, sql: "PRAGMA synchronous")
                precondition(level == 2, "every promise depends on synchronous=FULL")
            }
            // An older copy of the file may lack the number, which is in the log alone until the first checkpoint.
            let knownSeed = isThere ? seed : nil
            try queue.read { db in
                let known = try self.loadRetention(db)
                expiredAt = nil
                count = isChecked ? try Self.countOfEvents(db) : known ?? 0
                removals = try Int.fetchOne(db, sql: "SELECT count(*) FROM removal") ?? 0
                tombstoneCount = try Int.fetchOne(db, sql: "SELECT count(*) FROM tombstone") ?? 0
                try self.loadSeed(db)
                try self.loadChanges(db)
            }
            if seed == nil { try queue.write { db in try self.makeSeed(db, known: knownSeed) } }
            if oldestNumber == nil { try queue.write { db in try self.setOldestChange(self.lastChange + 1, db) } }
            isNew = !isThere
            if isNew || unlinked != nil || salvage != nil || loss != nil { isStartDue = true }
            isScrubbed = false
            scrubbedPages = 1
            presence = try FilePresence(path)
            // The names may lead to other files already.
            guard try queue.read(Self.hasName) else {
                throw JournalError.gone("\(path) was replaced while it was opened")
            }
            queue.writeWithoutTransaction(watchLog)
            self.queue = queue
        } catch {
            let reason = Self.reason(error, of: opened)
            // SQLite reports the lock that it cannot take in a read-only file as an input/output error.
            throw reason == .inputOutput && WriteObstacle.description(of: directory) != nil ? .readOnly : reason
        }
    }

    /// While a file is made, only EXTRA prevents that a rollback journal reappears after a power cut.
    private var settings: String {
        """
        PRAGMA locking_mode = EXCLUSIVE;
        PRAGMA synchronous = EXTRA;
        PRAGMA journal_mode = WAL;
        PRAGMA wal_autocheckpoint = \(checkpointPages);
        PRAGMA journal_size_limit = \(checkpointPages * 4194);
        PRAGMA cache_size = -2048;
        PRAGMA secure_delete = ON;
        """
    }

    /// The cause of a failure, with the errno(3) that the connection's files have.
    static func reason(_ error: any Error, of queue: DatabaseQueue?) -> JournalError {
        let reason = try? queue?.read { db in JournalError(error, on: db.sqliteConnection) }
        return reason ?? JournalError(error)
    }

    /// Runs our own statements. If SQLite rejects one, for example because a table exists already, the file is damaged.
    static func expectingDamage(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as DatabaseError
            where [.SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH].contains(error.resultCode)
        {
            throw JournalError.damaged
        }
    }

    /// Whether the path still leads to the file that SQLite has open.
    private static func hasName(_ db: Database) -> Bool {
        var hasMoved: CInt = 0
        sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        return hasMoved == 0
    }

    static func countOfEvents(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM event") ?? 0
    }

    /// Makes the directory, with its parents, and writes their names to the disk.
    func makeDirectory() throws(JournalError) {
        var path = directory.hasPrefix("/") ? "" : "."
        for part in directory.split(separator: "/", omittingEmptySubsequences: true) {
            let parent = path.isEmpty ? "/" : path
            path += "/" + part
            if mkdir(path, 0o700) == 0 {
                try sync(parent)
            } else if errno == ENOSPC || errno == EDQUOT {
                throw .diskFull
            } else if errno != EEXIST, access(path, F_OK) != 0 {
                throw .readOnly
            }
        }
    }

    /// Writes the names in a directory to the disk.
    private func sync(_ directory: String) throws(JournalError) {
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .readOnly }
        defer { Glibc.close(descriptor) }
        // Some file systems do not support fsync(2) of directories.
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else { throw .inputOutput }
    }

    private func setDamagedFileAside() throws(JournalError) {
        closeLinked()
        var name = "\(path).damaged-\(time(nil))"
        // Two files may be set aside within a second.
        while access(name, F_OK) == 0 { name += "-again" }
        guard rename(path, name) == 0 else { throw .readOnly }
        isSuspect = false
        for suffix in ["-wal", "-shm"] { rename(path + suffix, name + suffix) }
        setAside = name
    }
}
