import CStorage
import GRDB
import GRDBSQLite
import Glibc
import Routing

/// Opening and creating the files.
extension Journal {
    /// Opens index and log, and fills the index with what only the log has.
    ///
    /// - Parameter known: the last frame that this process has written and synced; later ones in the files do not
    ///   count.
    func open(known: UInt64? = nil) throws(JournalError) {
        carriedThrough = 0
        try makeDirectory()
        try setEarlierFileAside()
        try finishReplacing()
        var isIndexNew: Bool
        do throws(JournalError) {
            isIndexNew = try openIndex()
        } catch .damaged {
            try replaceDamagedIndex()
            isIndexNew = try openIndex()
        }
        do throws(JournalError) {
            try openLog(known: known, isIndexNew: isIndexNew)
        } catch {
            // The index can be read.
            log?.close()
            log = nil
            throw error
        }
    }

    /// - Returns: whether there was none.
    private func openIndex() throws(JournalError) -> Bool {
        var opened: DatabaseQueue?
        do {
            try FileCheck.prepare(path)
            guard FileCheck.hasUsableHeader(path) else { throw JournalError.damaged }
            let queue = try DatabaseQueue(path: path, configuration: Self.configuration)
            opened = queue
            let isNew: Bool
            switch try IndexSchema.state(of: queue) {
            case .newer: throw JournalError.tooNew
            case .earlier:
                try queue.close()
                try setEarlierVersionAside()
                return try openIndex()
            case .empty: isNew = true
            case .present: isNew = false
            }
            isChecked = isNew || isSuspect || FileCheck.size(path) <= checkedWhenOpened
            try Self.expectingDamage {
                if isNew { try IndexSchema.create(queue) }
                try IndexSchema.verify(queue)
                let isSound = try queue.read { db in
                    try (isNew || !isChecked || FileCheck.isSound(db)) && !StateTable(db: db).hasMisplacedRows()
                }
                guard isSound else { throw JournalError.damaged }
            }
            isSuspect = false
            (isCheckpointingPaused, isUnsynced) = (false, false)
            // The process that made the file may have crashed before its name was on the disk.
            try sync(directory)
            self.queue = queue
            do { try queue.inDatabase(writeLogOfSQLiteAgain) } catch {
                (isUnsynced, indexFailure) = (true, Self.reason(error, of: queue))
            }
            try queue.write { db in
                try load(db)
                if (try? StateTable(db: db).value(at: .seed)) == nil {
                    // What was lost is begun afresh, and stays the same journal.
                    let seed = self.seed ?? randomSeed()
                    try StateTable(db: db).store(.seed(seed))
                    self.seed = seed
                }
            }
            try queue.writeWithoutTransaction { db in
                // The log is synced with each turn, and a checkpoint syncs the index. Only the seed is nowhere else.
                try db.execute(sql: "PRAGMA synchronous = NORMAL")
            }
            if isNew { isStartDue = true }
            self.opened = FileIdentity(path)
            (hasRemains, nextPage, rewrittenPages) = (true, 1, [])
            return isNew
        } catch {
            let reason = Self.reason(error, of: opened)
            queue = nil
            try? opened?.close()
            // SQLite reports the lock that it cannot take in a read-only file as an input/output error.
            throw reason == .inputOutput && WriteObstacle.description(of: directory) != nil ? .readOnly : reason
        }
    }

    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { db in
            do {
                try db.execute(sql: Self.settings)
                sqlite3_keep_log(db.sqliteConnection)
            } catch {
                throw JournalError(error, on: db.sqliteConnection)
            }
        }
        return configuration
    }

    /// While a file is made, only EXTRA prevents that a rollback journal reappears after a power cut.
    private static let settings = """
        PRAGMA locking_mode = EXCLUSIVE;
        PRAGMA synchronous = EXTRA;
        PRAGMA journal_mode = WAL;
        PRAGMA wal_autocheckpoint = 0;
        PRAGMA journal_size_limit = \(4 << 20);
        PRAGMA cache_size = -2048;
        PRAGMA secure_delete = ON;
        """

    /// Loads what is kept in memory. Damaged values are counted and left out.
    func load(_ db: Database) throws {
        // An older copy of the file may lack the seed.
        if case .seed(let found)? = try value(at: .seed, db) { seed = found }
        numbers.lowest = nil
        numbers.oldest = try number(.oldestChange, db)
        numbers.lastHole = try number(.lastHole, db)
        newestID = try Int64.fetchOne(db, sql: "SELECT max(id) FROM event") ?? 0
        let last = try [
            "SELECT number FROM event WHERE number IS NOT NULL ORDER BY id DESC LIMIT 1",
            "SELECT max(decided) FROM event INDEXED BY event_decided WHERE decided IS NOT NULL",
            "SELECT max(number) FROM change",
        ].compactMap { try Int64.fetchOne(db, sql: $0) }
        for number in last + [numbers.lastHole ?? 0] { numbers.include(number) }
        let states = StateTable(db: db)
        globalIDs = try states.count(.globalID)
        tombstoneCount = try states.count(.tombstone)
        bannersUp = [:]
        for record in try records(.bannerUp, db) { noteBanner(record) }
        var known: Int?
        if case .retention(let clock, let marks, let events, let last)? = try value(at: .retention, db) {
            retention = RetentionState(clock: clock, marks: marks, newest: last)
            let sql = "SELECT count(*) FROM event WHERE id > ?"
            known = Int(events) + (try Int.fetchOne(db, sql: sql, arguments: [last]) ?? 0)
        }
        if let known, !isChecked { count = known } else { count = try Self.countOfEvents(db) }
    }

    func number(_ counter: Record.Counter, _ db: Database) throws -> Int64? {
        do { return try StateTable(db: db).number(counter) } catch let error where !(error is DatabaseError) {
            damagedRows += 1
            return nil
        }
    }

    /// Reads what the index does not have.
    private func openLog(known: UInt64?, isIndexNew: Bool) throws(JournalError) {
        let log = try WriteAheadLog(on: disk, segmentBytes: disk.segmentBytes)
        self.log = log
        isSmallDisk = log.segmentBytes < Self.usualSegment
        pending = Pending()
        let applied = try storedSequence()
        let found = try log.replay(after: applied, known: known) { sequence, payload throws(JournalError) in
            try self.replay(sequence, payload)
        }
        damagedRows += UInt64(found.damaged + found.unreadable)
        numbers.continueAbove(time: realtime())
        try? fold()
        // An index that was made again has what the log had.
        guard numbers.oldest == nil else { return }
        // The index is made before the log. A log without a frame has given everything to one that is not there.
        let isMissing = found.isBehind || isIndexNew && !log.isNew && found.frames == 0
        if isMissing, setAside == nil { setAside = SetAside(file: path, reason: .missing) }
        let oldest = numbers.lowest ?? numbers.last + 1
        try write { db in try self.setOldestChange(oldest, db) }
    }

    /// The last frame that the index on the disk has.
    func storedSequence() throws(JournalError) -> UInt64 {
        try readIndex { db in UInt64(clamping: try self.number(.applied, db) ?? 0) }
    }

    /// A frame of the log that the index does not have.
    func replay(_ sequence: UInt64, _ payload: ArraySlice<UInt8>) throws(JournalError) {
        var records: [LogRecord] = []
        do {
            try payload.withUnsafeBytes { bytes in
                var reader = RecordReader(bytes)
                while !reader.isAtEnd { records.append(try LogRecord(from: &reader)) }
            }
        } catch {
            // The frame is what was written, so another version has written it.
            throw .tooNew
        }
        for entry in records {
            numbers.include(entry.number)
            switch entry.record {
            case .accepted(let event):
                newestID = max(newestID, Self.number(event.id))
                if try !isIndexed(event.id) { count += 1 }
            case .awaited: numbers.lastHole = entry.number
            default: noteBanner(entry.record)
            }
        }
        pending.append(Pending.Frame(sequence: sequence, records: records, bytes: payload.count, written: 0))
        if pending.count >= Self.portionAtStart, indexFailure == nil, !isReadOnly {
            try? foldPortion(Self.portionAtStart)
        }
    }

    /// The size of a segment of the log, unless the disk is small.
    package static let usualSegment = 4 << 20

    /// The cause of a failure, with the errno(3) that the connection's files have.
    static func reason(_ error: any Error, of queue: DatabaseQueue?) -> JournalError {
        guard let queue else { return JournalError(error) }
        return queue.unsafeReentrantRead { db in JournalError(error, on: db.sqliteConnection) }
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

    static func countOfEvents(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM event") ?? 0
    }

    /// Makes the directory, with its parents, and writes their names to the disk.
    private func makeDirectory() throws(JournalError) {
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
    func sync(_ directory: String) throws(JournalError) { try DirectoryDisk(directory).syncDirectory() }

    /// What an earlier connection wrote to SQLite's log may not be on the disk, and a sync need not tell: only what is
    /// newly written is certainly synced. SQLite has just verified what it uses of it.
    private func writeLogOfSQLiteAgain(_ db: Database) throws {
        guard let log = DatabaseFile(SQLITE_FCNTL_JOURNAL_POINTER, db.sqliteConnection) else { return }
        let size = try log.size()
        guard size > 0 else { return }
        for start in stride(from: 0, to: size, by: DatabaseFile.step) {
            let bytes = try log.read(min(DatabaseFile.step, size - start), at: start)
            do { try log.write(bytes[...], at: start) } catch let error as DatabaseError
                where error.resultCode == .SQLITE_FULL
            {
                // The file system writes everything to a new place.
                break
            }
        }
        try log.sync()
    }
}
