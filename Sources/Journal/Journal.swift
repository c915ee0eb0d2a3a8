import GRDB
import GRDBSQLite
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

    /// The connection that was closed last. To let go of one starts a thread of libdispatch's, which complains where a
    /// sandbox keeps it from setting its priority.
    private var closed: DatabaseQueue?

    /// After so many pages the log is emptied into the file.
    static let checkpointPages = 1000

    public let directory: String
    let limits: Limits
    /// The file that was found damaged and set aside, if there was one.
    public private(set) var setAside: String?
    /// The file that was deleted or replaced while it was in use, until `takeLoss`.
    var loss: Loss?
    /// Rows that were not what had been written, and were left out.
    public internal(set) var damagedRows: UInt64 = 0

    /// How many events there are; before a large file has been examined, as far as is known without counting them.
    public internal(set) var count = 0

    /// What the ages of events are reckoned by.
    var clock = RetentionClock()
    var marks = RetentionMarks()
    /// The last event that this process has written, and the one that was the last at the latest reading of the clocks.
    var lastAccepted: Int64 = 0
    var lastRead: RetentionMarks.Mark?
    /// The age of the journal when it was last looked at what is too old.
    var expiredAt: Int64?
    /// Whether the file has what they say, and how many events there are.
    var isRetentionSaved = true

    /// Whether the whole file has been looked at since it was opened. A large one is left to `beginExamination`.
    public internal(set) var isExamined = false

    /// Whether something was read that cannot be: then the file is looked at before it is used again, however large it is.
    var isSuspect = false

    /// Whether the file holds still for an examination; over as soon as it is opened anew.
    var holdsStill = false

    /// How many events there seemed to be when the examination began.
    var countWhenExamined = 0

    /// Files up to this size are looked at when they are opened, which takes some tens of milliseconds.
    private let examinedAtOnce: Int

    /// How many banners have been written since it was seen to that they are not too many.
    var bannersSinceLimit = 0

    /// How many named removals there are.
    var removals = 0

    /// The values that those of the present transaction take the place of: should it fail, they are current again.
    var replaced: [Topic: Int64] = [:]

    var queue: DatabaseQueue?

    /// Which files are open, by their names.
    private var presence: FilePresence?

    /// An open file that has lost its name, until what it holds is written into another.
    var nameless: (queue: DatabaseQueue, presence: FilePresence)?

    var path: String { "\(directory)/\(Self.fileName)" }

    /// Opens the journal in a directory, which is made if it is not there.
    ///
    /// A file that is damaged is set aside as `events.db.damaged-TIME` and a fresh one begun; `setAside` says so.
    ///
    /// - Parameter limits: how many names of removals are kept, and for how long.
    public convenience init(directory: String, limits: Limits = Limits()) throws(JournalError) {
        try self.init(directory: directory, limits: limits, examinedAtOnce: 8 << 20)
    }

    /// - Parameter examinedAtOnce: files up to this size, in bytes, are looked at when they are opened.
    init(directory: String, limits: Limits = Limits(), examinedAtOnce: Int) throws(JournalError) {
        self.directory = directory
        self.limits = limits
        self.examinedAtOnce = examinedAtOnce
        try makeDirectory()
        try openOrBeginAfresh()
    }

    public var isOpen: Bool { queue != nil }

    /// Opens the file again after a failure, and takes events out that were refused although they may be in it.
    public func reopen(without refused: [EventID]) throws(JournalError) {
        closeNamed()
        // A folder that was moved away may be back.
        if nameless?.presence.isFileInPlace == true { closeNameless() }
        takeLogAway()
        try makeDirectory()
        try openOrBeginAfresh()
        try carryOver(without: Set(refused))
        guard !refused.isEmpty else { return }
        try write { db in
            for id in refused {
                try db.execute(sql: "DELETE FROM value WHERE event = ?", arguments: [Self.number(id)])
                try db.execute(sql: "DELETE FROM event WHERE id = ?", arguments: [Self.number(id)])
                self.count -= db.changesCount
                try db.execute(sql: "DELETE FROM claim WHERE event = ?", arguments: [Self.number(id)])
                try db.execute(sql: "DELETE FROM removal WHERE id = ?", arguments: [Self.number(id)])
                self.removals -= db.changesCount
            }
            // Of two values of the same transaction the first is no better than the second.
            for (topic, id) in self.replaced where !refused.contains(where: { Self.number($0) == id }) {
                try db.execute(
                    sql: "INSERT OR IGNORE INTO value (topic, event) VALUES (?, ?)", arguments: [topic.description, id])
            }
        }
        replaced = [:]
    }

    public func close() {
        // After a kill, too, ages go on: they only lag behind.
        if isOpen, !isRetentionSaved { try? saveRetention() }
        closeNamed()
        closeNameless()
    }

    func closeNameless() {
        try? nameless?.queue.close()
        nameless = nil
    }

    private func closeNamed() {
        // What could not be closed cannot be used either; the file is opened afresh in any case.
        try? queue?.close()
        if let queue { closed = queue }
        queue = nil
    }

    // MARK: Opening

    private func openOrBeginAfresh() throws(JournalError) {
        do throws(JournalError) {
            try open()
        } catch .damaged {
            try setDamagedFileAside()
            try open()
        }
    }

    private func open() throws(JournalError) {
        do {
            try FileCheck.prepare(path)
            guard FileCheck.hasUsableHeader(path) else { throw JournalError.damaged }
            var configuration = Configuration()
            // GRDB would set synchronous=NORMAL after this, were the mode set by its own option. While a file is made,
            // only EXTRA keeps a rollback journal from coming back after a power cut; then the two are the same.
            configuration.prepareDatabase { db in
                try db.execute(
                    sql: """
                        PRAGMA locking_mode = EXCLUSIVE;
                        PRAGMA synchronous = EXTRA;
                        PRAGMA journal_mode = WAL;
                        PRAGMA wal_autocheckpoint = \(Self.checkpointPages);
                        PRAGMA journal_size_limit = 4194304;
                        PRAGMA cache_size = -4096;
                        """)
            }
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let (isThere, isComplete) = try queue.read { db in
                let migrator = JournalSchema.migrator
                do {
                    if try migrator.hasBeenSuperseded(db) { throw JournalError.tooNew }
                    return (try !migrator.appliedIdentifiers(db).isEmpty, try migrator.hasCompletedMigrations(db))
                } catch {
                    // The list of migrations is not what it should be.
                    if case .other = JournalError(error) { throw JournalError.damaged }
                    throw error
                }
            }
            // What is to be changed is looked at first, however large it is.
            isExamined = !isThere || !isComplete || isSuspect || FileCheck.size(path) <= examinedAtOnce
            try Self.expectingDamage {
                let isLookedAt = isThere && isExamined
                let isIntact = try !isLookedAt || FileCheck.check(queue)
                isSuspect = false
                holdsStill = false
                if !isComplete {
                    try JournalSchema.migrator.migrate(queue)
                    try queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
                }
                try JournalSchema.verify(queue)
                if isLookedAt { damagedRows += UInt64(try RowCheck.check(queue, isIntact: isIntact)) }
            }
            // Whoever made the file may have died before its name was on the disk.
            try sync(directory)
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = FULL")
                let level = try Int.fetchOne(db, sql: "PRAGMA synchronous")
                precondition(level == 2, "synchronous=FULL is what every promise rests on")
            }
            try queue.read { db in
                let known = try self.loadRetention(db)
                expiredAt = nil
                count = isExamined ? try Self.countOfEvents(db) : known ?? 0
                removals = try Int.fetchOne(db, sql: "SELECT count(*) FROM removal") ?? 0
            }
            presence = try FilePresence(path)
            // Else it may be known by the name of another file already.
            guard try queue.read(Self.hasName) else {
                throw JournalError.gone("\(path) was replaced while it was opened")
            }
            self.queue = queue
        } catch {
            throw JournalError(error)
        }
    }

    /// Where our own statements make no sense, as for a table that should not be there yet, the file is not what it should be.
    private static func expectingDamage(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as DatabaseError
            where [.SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH].contains(error.resultCode)
        {
            throw JournalError.damaged
        }
    }

    /// Whether the file that SQLite has open is the one that its name leads to.
    private static func hasName(_ db: Database) -> Bool {
        var hasMoved: CInt = 0
        sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        return hasMoved == 0
    }

    static func countOfEvents(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM event") ?? 0
    }

    /// Makes the directory, and sees to it that its name is on the disk before anything in it is promised.
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

    /// Has the names in a directory written to the disk.
    private func sync(_ directory: String) throws(JournalError) {
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .readOnly }
        defer { Glibc.close(descriptor) }
        // Not every file system has that for directories.
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else { throw .inputOutput }
    }

    private func setDamagedFileAside() throws(JournalError) {
        closeNamed()
        var name = "\(path).damaged-\(time(nil))"
        // Two within a second are two files all the same.
        while access(name, F_OK) == 0 { name += "-again" }
        guard rename(path, name) == 0 else { throw .readOnly }
        isSuspect = false
        for suffix in ["-wal", "-shm"] { rename(path + suffix, name + suffix) }
        setAside = name
    }

    // MARK: Access

    /// Runs a transaction. When it fails, the journal is closed.
    func write<Result>(_ body: (Database) throws -> Result) throws(JournalError) -> Result {
        guard let queue else { throw .other("the journal is closed") }
        do {
            try presence?.check()
            let result = try queue.writeWithoutTransaction { db in
                // Prepared once, where GRDB's own transaction would be parsed every time.
                try FastStatement.run(db, "BEGIN IMMEDIATE TRANSACTION")
                do {
                    let result = try body(db)
                    try FastStatement.run(db, "COMMIT TRANSACTION")
                    return result
                } catch {
                    // The file is closed below, and what matters is why.
                    let reason = JournalError(error, on: db.sqliteConnection)
                    if db.isInsideTransaction { try? db.rollback() }
                    throw reason
                }
            }
            try presence?.record()
            return result
        } catch {
            throw giveUp(error)
        }
    }

    /// When pages cannot be read because the file is damaged, the journal is closed.
    func read<Result>(_ body: (Database) throws -> Result) throws(JournalError) -> Result {
        guard let queue else { throw .other("the journal is closed") }
        do {
            return try queue.read(body)
        } catch {
            let error = JournalError(error)
            throw error == .damaged ? giveUp(error) : error
        }
    }

    /// Closes the file because of an error. One that has lost its name stays open, to be read once more.
    func giveUp(_ error: any Error) -> JournalError {
        let error = JournalError(error)
        switch error {
        case .damaged: isSuspect = true
        case .gone:
            isSuspect = true
            if let queue, let presence, !presence.isFileInPlace, nameless == nil {
                nameless = (queue, presence)
                self.queue = nil
            }
        default: break
        }
        closeNamed()
        return error
    }

    /// Whatever makes a file shorter without a transaction has to say so.
    func recordPresence() throws(JournalError) { try presence?.record() }

    /// Whether something can be written, which nobody knows before it was tried.
    public func probe() throws(JournalError) {
        try FileCheck.makeRoom(beside: path)
        // The same value again is a page to be written all the same.
        try write { db in try db.execute(sql: "PRAGMA user_version = 0") }
    }

    /// Ids are microseconds since the epoch and counting: they never reach the sign bit.
    static func number(_ id: EventID) -> Int64 { Int64(bitPattern: id.rawValue) }

    /// The same for an id that a client made up. One with the sign bit is above all rows, and not a negative number, which
    /// would be below them.
    static func bound(_ id: EventID) -> Int64 { Int64(clamping: id.rawValue) }
}
