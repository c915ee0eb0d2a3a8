import CSQLite
import GRDB
import Glibc
public import Routing

/// Accepted events and their outcomes on disk: SQLite with a write-ahead log and `synchronous=FULL`. What a successful commit
/// wrote survives a power cut.
///
/// A journal is used from one thread, and every call is synchronous. A failed commit closes the file for writing: the kernel
/// may have dropped pages that it could not write, and a second fsync(2) would not report them. `reopen` starts again from
/// what is on the disk.
public final class Journal {
    /// The file's name in the state directory.
    public static let fileName = "events.db"

    /// The connection that was closed last. Releasing one starts a libdispatch thread, which logs an error where a sandbox
    /// keeps it from setting its priority.
    private var closed: DatabaseQueue?

    /// SQLite checkpoints the log after so many pages. A checkpoint may have to make the file larger by as much, so it is a
    /// small part of a small disk.
    private(set) var checkpointPages = usualCheckpointPages
    var checkpointBytes: Int { checkpointPages * Self.pageSize }
    private static let usualCheckpointPages = 1000
    /// Bytes of a page.
    public static let pageSize = 4096

    /// The limit for the log on the disk of a directory, in bytes.
    public static func logLimit(in directory: String) -> Int {
        let usual = usualCheckpointPages * pageSize
        guard let disk = FileCheck.diskSize(directory) else { return usual }
        return min(usual, max(64 << 10, disk / 64))
    }

    /// Whether the disk of a directory has so many more bytes for its journal. The log counts as free: after a checkpoint it is
    /// written again from its beginning.
    ///
    /// - Parameter isTried: whether the space is reserved for a moment, which finds out about quotas.
    public static func hasRoom(for bytes: Int, in directory: String, isTried: Bool) -> Bool {
        let path = "\(directory)/\(fileName)"
        let needed = bytes - FileCheck.size(path + "-wal")
        guard needed > 0, let free = FileCheck.freeSpace(directory) else { return true }
        return free >= needed && (!isTried || FileCheck.canReserve(needed, beside: path))
    }

    /// Takes over the limit for the log.
    func measureDisk() { checkpointPages = Self.logLimit(in: directory) / Self.pageSize }

    /// How much a transaction deletes, in bytes of events: with `secure_delete` they are all written to the log.
    var deletedBytesAtOnce: Int { checkpointBytes / 4 }
    /// The same in events, on a small disk: each may be on a page of its own, and so may its entries in the indexes.
    var deletedEventsAtOnce: Int { checkpointPages < Self.usualCheckpointPages ? max(4, checkpointPages / 4) : .max }

    public let directory: String
    let limits: Limits
    /// The damaged file that was set aside, if there is one.
    public internal(set) var setAside: String?
    /// The file that was deleted or replaced while it was open, until `takeLoss`.
    var loss: Loss?
    /// Rows that were left out because their checksums do not match.
    public internal(set) var damagedRows: UInt64 = 0

    /// The number of events. Before the integrity check of a large file, it is the number that was stored last.
    public internal(set) var count = 0

    /// A random number that no other journal has: 32 lower-case hexadecimal digits. `nil` if it cannot be read.
    public internal(set) var seed: String?
    /// Whether the open file was made when it was opened.
    var isNew = false

    /// The number of the last change, and the first one that is complete; see `changes`.
    var lastChange: Int64 = 0
    var oldestNumber: Int64?
    /// The highest number that may have no row, and is used up.
    var lastHole: Int64?
    /// The last changes; `nil` while nobody follows the journal.
    var recent: RecentChanges?
    /// The highest number in the file when it was opened.
    var lastChangeInFile: Int64 = 0
    /// Whether a row `start` is to be written, because this process or this file is a new one.
    var isStartDue = true
    /// The highest id in the file.
    var newestID: Int64 = 0
    /// Microseconds since the epoch.
    var realtime: () -> Int64 = Journal.now

    /// The clock for the ages of events.
    var clock = RetentionClock()
    var marks = RetentionMarks()
    /// The last event that this process has written.
    var lastAccepted: Int64 = 0
    /// The event that was the last one at the latest reading of the clocks.
    var lastRead: RetentionMarks.Mark?
    /// The age of the journal when old events were last deleted.
    var expiredAt: Int64?
    /// Whether the retention clock and the number of events are on disk.
    var isRetentionSaved = true

    /// Whether the whole file has been checked since it was opened. `beginIntegrityCheck` checks a large one.
    public internal(set) var isChecked = false

    /// Whether a read found damage. The file is then checked when it is opened again, whatever its size.
    var isSuspect = false

    /// Whether checkpoints are off, so that an integrity check reads a file that does not change.
    var isCheckpointingPaused = false
    /// Whether the log keeps its pages until all are scrubbed.
    var isScrubbing = false
    /// The pages in the log after the last transaction, those included that are in the file already.
    var pagesInLog = 0

    /// The number of events, as far as it was known, when the integrity check began.
    var countAtCheck = 0

    /// Files up to this size, in bytes, are checked when they are opened, which takes some tens of milliseconds.
    let checkedWhenOpened: Int

    /// The number of banners written since their limit was last applied.
    var bannersSinceLimit = 0

    /// The number of rows in the table of global ids of removals and of forgotten events.
    var removals = 0
    /// The number of rows in the table of removals that are remembered.
    var tombstoneCount = 0

    /// Whether nothing was forgotten since the pages were scrubbed last, in this process.
    public internal(set) var isScrubbed = false
    /// The pages before this one have been scrubbed since then; counted from 1.
    var scrubbedPages = 1

    /// The values that the current transaction replaces. They are current again if it fails.
    var replaced: [Topic: Int64] = [:]

    /// The decisions of the events that the current transaction replaces, `nil` for undecided ones. They hold again if it
    /// fails.
    var overwritten: [EventID: StoredDecision?] = [:]

    /// The awaited claims that the current transaction deletes because their events have come. They are awaited again if it
    /// fails.
    var ended: [StoredAwaited] = []

    /// The connection that writes and reads.
    var queue: DatabaseQueue? {
        // A connection cannot be closed while its statements are kept.
        didSet { statements = nil }
    }
    var statements: UsualStatements?

    /// Reads while writing fails: the connection whose transaction was rolled back, or one that was opened for reading only.
    var reader: DatabaseQueue?

    /// Held while the file is open for reading only.
    var readLock: ReadLock?

    /// Tells whether the open files still have their names.
    var presence: FilePresence?

    /// An open file that has no name any more, until its contents are written to the new file.
    var unlinked: UnlinkedFile?

    /// The contents of a lost file that could not stay open, until they are written to the new file.
    var salvage: Salvage?

    var path: String { "\(directory)/\(Self.fileName)" }

    /// Opens the journal in a directory, and makes the directory if it does not exist.
    ///
    /// A damaged file is renamed to `events.db.damaged-TIME`, and a new one is made; `setAside` names it.
    ///
    /// - Parameter limits: how many global ids of removals are kept, and for how long.
    public convenience init(directory: String, limits: Limits = Limits()) throws(JournalError) {
        try self.init(directory: directory, limits: limits, checkedWhenOpened: 8 << 20)
    }

    /// - Parameter checkedWhenOpened: files up to this size, in bytes, are checked when they are opened.
    init(
        directory: String, limits: Limits = Limits(), checkedWhenOpened: Int = 8 << 20,
        realtime: @escaping () -> Int64 = Journal.now
    ) throws(JournalError) {
        _ = Self.memoryStatistics
        self.realtime = realtime
        self.directory = directory
        self.limits = limits
        self.checkedWhenOpened = checkedWhenOpened
        try makeDirectory()
        try openOrCreate()
    }

    /// Opens a journal for reading only, until `reopen` succeeds. It writes nothing.
    ///
    /// - Throws: if there is no journal, if it is damaged or of another version, or if another process writes it.
    public init(readingIn directory: String, limits: Limits = Limits()) throws(JournalError) {
        _ = Self.memoryStatistics
        self.directory = directory
        self.limits = limits
        checkedWhenOpened = 0
        try openForReading()
    }

    /// Switched off once, before SQLite is used: it would take a lock whenever it allocates or frees memory.
    private static let memoryStatistics = sqlite3_config_memory_statistics(0)

    /// Whether the journal can be written.
    public var isOpen: Bool { queue != nil }

    /// Whether the journal can be read, also while it cannot be written.
    public var isReadable: Bool { readableQueue != nil }

    /// Opens the file again after a failure, and deletes refused events that are in it.
    ///
    /// - Parameter refused: events that were not acknowledged. A failed commit may have written them.
    /// - Throws: if the file cannot be written. It stays readable if it was.
    public func reopen(without refused: [EventID]) throws(JournalError) {
        do throws(JournalError) {
            try reopenForWriting(without: refused)
        } catch {
            if error == .diskFull, let unlinked {
                salvage(from: unlinked.queue)
                loss = loss ?? Loss(file: path)
                closeUnlinked()
            }
            readOnly(without: refused)
            throw error
        }
    }

    private func reopenForWriting(without refused: [EventID]) throws(JournalError) {
        // Only writing checks the names of the files.
        if unlinked == nil, let reader, let presence, !presence.isFileInPlace {
            unlinked = UnlinkedFile(queue: reader, presence: presence, isReadable: true)
            self.reader = nil
        }
        closeLinked()
        // A directory that was moved away may be back.
        if unlinked?.presence.isFileInPlace == true { closeUnlinked() }
        removeLog()
        // A link to the open file is in its place, and the log is part of the file now.
        if unlinked?.presence.isReached(by: path) == true { closeUnlinked() }
        try makeDirectory()
        try openOrCreate()
        try carryOver(without: Set(refused))
        if !refused.isEmpty { try delete(refused) }
        replaced = [:]
        overwritten = [:]
        ended = []
    }

    private func delete(_ refused: [EventID]) throws(JournalError) {
        try write { db in
            for id in refused {
                try db.execute(sql: "DELETE FROM value WHERE event = ?", arguments: [Self.number(id)])
                try db.execute(sql: "DELETE FROM event WHERE id = ?", arguments: [Self.number(id)])
                self.count -= db.changesCount
                try db.execute(sql: "DELETE FROM claim WHERE event = ?", arguments: [Self.number(id)])
                try db.execute(sql: "DELETE FROM change WHERE event = ?", arguments: [Self.number(id)])
                try db.execute(sql: "DELETE FROM removal WHERE id = ?", arguments: [Self.number(id)])
                self.removals -= db.changesCount
            }
            // A value that was refused with its successor does not come back.
            for (topic, id) in self.replaced where !refused.contains(where: { Self.number($0) == id }) {
                try db.execute(
                    sql: "INSERT OR IGNORE INTO value (topic, event) VALUES (?, ?)", arguments: [topic.description, id])
            }
            try self.restoreDecisions(db)
            for awaited in self.ended { try self.insert(awaited, db) }
        }
    }

    public func close() {
        // After a crash the stored age is too low: events then stay longer.
        if isOpen, !isRetentionSaved { try? saveRetention() }
        closeLinked()
        closeUnlinked()
    }

    func closeUnlinked() {
        try? unlinked?.queue.close()
        unlinked = nil
    }

    func closeLinked() {
        let connections = [queue, reader].compactMap(\.self)
        queue = nil
        reader = nil
        // An error changes nothing: the file is opened again in any case.
        for connection in connections {
            try? connection.close()
            closed = connection
        }
        recent = nil
        readLock = nil
        presence = nil
    }

    /// Stops writing until `reopen`. The journal can still be read.
    public func stopWriting() {
        guard let queue else { return }
        reader = queue
        self.queue = nil
    }

    /// Accepts the present sizes of the files, after a checkpoint has made the log shorter.
    func recordPresence() throws(JournalError) { try presence?.record() }

    /// Tests whether the journal can be written, by writing. The first success after the start writes the row `start`.
    public func probe() throws(JournalError) {
        // SQLite writes the page even though the value does not change.
        try write { db in
            try db.execute(sql: "PRAGMA user_version = 0")
            try self.noteStart(db)
        }
        isStartDue = false
    }

    /// The bytes of the file that no row takes.
    public var freeBytes: Int {
        get throws(JournalError) {
            try read { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
                return try pages * (Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0)
            }
        }
    }

    /// The bytes by which the next checkpoint makes the file larger.
    public var unwrittenGrowth: Int {
        get throws(JournalError) {
            let size = try read { db in try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0 } * Self.pageSize
            return max(0, size - FileCheck.size(path))
        }
    }

    /// The id as SQLite stores it. Ids begin at the microseconds since the epoch, so they never reach the sign bit.
    static func number(_ id: EventID) -> Int64 { Int64(bitPattern: id.rawValue) }

    /// The same for an id that a client sent. One with the sign bit set compares above all rows; as a negative number it
    /// would compare below them.
    static func bound(_ id: EventID) -> Int64 { Int64(clamping: id.rawValue) }
}
