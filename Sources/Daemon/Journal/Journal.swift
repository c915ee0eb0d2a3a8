import CStorage
import GRDB
import Glibc
public import Routing

/// Accepted events and their outcomes on disk: a write-ahead log in front, and an index in SQLite behind it.
///
/// `commit` appends the records of a turn to the log and syncs it: what it has written survives a power cut. The index
/// gets one row an event later, with what is known by then, in portions: when the loop is idle, when many records wait,
/// or when a read needs them. What the index does not have yet is in memory (`Pending`) and in the log.
///
/// What is durable when:
/// 1. `commit` appends one frame to the log and syncs it. Then the daemon acknowledges what is in it.
/// 2. A portion of the index is one transaction: whole frames, and the sequence of the last one. SQLite does not sync
///    it.
/// 3. A checkpoint syncs SQLite's write-ahead log, copies it to `index.db` and syncs that. Only then may the log
///    overwrite those frames. After a failed sync there is none until `reopen`: see `isUnsynced`.
///
/// So the sequences are always in this order: released by the log, applied in `index.db`, applied in its write-ahead
/// log, last in the log. A start applies what the log has above the one in the index; to do so twice gives the same.
///
/// A journal is used from one thread, and every call is synchronous. A failed commit stops writing until `reopen`.
public final class Journal {
    /// The name of the index in the state directory. The segments of the log are beside it.
    public static let fileName = "index.db"
    /// The name of the file in which earlier builds kept everything.
    static let earlierFileName = "events.db"
    /// Bytes of a page of the index.
    static let pageSize = 4096

    public let directory: String
    let limits: Limits
    /// The directory, as the log uses it.
    let disk: any LogDisk
    /// Microseconds since the epoch.
    let realtime: () -> Int64
    /// Indexes up to this size, in bytes, are checked when they are opened, which takes some tens of milliseconds.
    let checkedWhenOpened: Int

    /// The damaged index that was set aside, the file of an earlier build, or the missing index, if there is one.
    public internal(set) var setAside: SetAside?
    /// Rows and frames that were left out because their checksums do not match.
    public internal(set) var damagedRows: UInt64 = 0
    /// The number of events. Before the integrity check of a large index, it is the number that was stored last.
    public internal(set) var count = 0
    /// A random number that no other journal has: 32 lower-case hexadecimal digits. `nil` if it cannot be read.
    public internal(set) var seed: String?

    /// The log; `nil` while it cannot be opened.
    var log: WriteAheadLog?
    /// What the log has and the index has not.
    var pending = Pending()
    /// The last frame that this process knows to be on the disk; `nil`: it has written none.
    private var lastSequence: UInt64?
    /// The bytes of the frame that is written, in memory that is used again.
    var frame = RecordWriter()
    /// What is written again when the files are opened again.
    private var abandoned = Abandoned()
    /// Why nothing is written until `reopen`; `nil` while all is well.
    public internal(set) var failure: JournalError?
    /// Whether the last frame could not be written.
    var isLogSuspect = false
    /// Why the index does not take what the log has; `nil` while it does.
    public internal(set) var indexFailure: JournalError?
    /// Whether a sync of the index or of its write-ahead log has failed. The kernel may take for written what it could
    /// not write, and would not report that a second time: nothing is written to the index until `reopen`, which reads
    /// the write-ahead log again and writes it once more.
    var isUnsynced = false
    /// The waiting frames that an open transaction of the index has, for reading; `nil`: none is open.
    var unwrittenFrames: Int?

    /// The connection to the index.
    var queue: DatabaseQueue?
    /// The connection that was closed last. Releasing one starts a libdispatch thread, which logs an error where a
    /// sandbox keeps it from setting its priority.
    private var closed: DatabaseQueue?
    /// Held while the index is open for reading only.
    var readLock: ReadLock?
    /// The index that is open.
    var opened: FileIdentity?
    /// When the log was last written, in microseconds since the epoch; `nil`: not since the start.
    public internal(set) var lastWritten: Int64?
    /// Whether the disk is so small that the segments of the log are.
    var isSmallDisk = false
    /// Whether `queue` reads a file that cannot be written.
    var isReadOnly = false

    var numbers = ChangeNumbers()
    /// Whether a record `start` is to be written, because this process or this index is a new one.
    var isStartDue = true
    /// The highest id that was accepted.
    var newestID: Int64 = 0
    /// The banners that are up, by the numbers of the notification server.
    var bannersUp: [UInt32: StoredBanner] = [:]
    /// The number of global ids of removals and of forgotten events.
    var globalIDs = 0
    /// The number of removals that are remembered.
    var tombstoneCount = 0

    var retention = RetentionState()
    /// The last frame that a damaged index had, if only part of that index could be copied: the whole log is then
    /// applied again, and frames up to this one may be in the copy already.
    var carriedThrough: UInt64 = 0
    /// Whether the whole index has been checked since it was opened. `beginIntegrityCheck` checks a large one.
    public internal(set) var isChecked = false
    /// Whether a read found damage. The index is then checked when it is opened again, whatever its size.
    var isSuspect = false
    /// Whether checkpoints are off, so that an integrity check reads a file that does not change.
    var isCheckpointingPaused = false
    /// The number of events, as far as it was known, when the integrity check began.
    var countAtCheck = 0
    /// Whether something was deleted since the last scrubbing began, or may have been by an earlier process.
    var hasRemains = true
    /// The scrubbing has reached this page; 1: none is under way.
    var nextPage = 1
    /// The pages before it that were written since.
    var rewrittenPages: Set<Int> = []
    /// Whether zeros in the file may not be on the disk, because a sync has failed.
    var areZerosDoubtful = false

    var path: String { "\(directory)/\(Self.fileName)" }

    /// A file that is not used.
    public struct SetAside: Sendable, Equatable {
        /// Why it is not used.
        public enum Reason: Sendable {
            /// It was damaged.
            case damaged
            /// An earlier build wrote it.
            case earlier
            /// The index was not there, and the log does not have all that it had.
            case missing
        }

        /// Where it is now, or was.
        public var file: String
        public var reason: Reason
    }

    init(
        _ directory: String, _ limits: Limits, checkedWhenOpened: Int, _ realtime: @escaping () -> Int64,
        _ disk: any LogDisk
    ) {
        _ = Self.memoryStatistics
        self.realtime = realtime
        self.directory = directory
        self.limits = limits
        self.checkedWhenOpened = checkedWhenOpened
        self.disk = disk
    }

    /// Opens the journal in a directory, and makes the directory if it does not exist.
    ///
    /// A damaged index is renamed to `index.db.damaged-TIME`, and a new one is made with what can be read; `setAside`
    /// names it.
    ///
    /// - Parameter limits: how many global ids of removals are kept, and for how long.
    public convenience init(directory: String, limits: Limits = Limits()) throws(JournalError) {
        try self.init(directory: directory, limits: limits, checkedWhenOpened: 8 << 20)
    }

    /// - Parameter checkedWhenOpened: indexes up to this size, in bytes, are checked when they are opened.
    package convenience init(
        directory: String, limits: Limits = Limits(), checkedWhenOpened: Int = 8 << 20,
        realtime: @escaping () -> Int64 = Journal.now,
        logDisk: (String) -> any LogDisk = { DirectoryDisk($0) }
    ) throws(JournalError) {
        self.init(directory, limits, checkedWhenOpened: checkedWhenOpened, realtime, logDisk(directory))
        try open()
    }

    /// Opens the journal in a directory, for reading only if it cannot be written, and not at all if it cannot be read
    /// either; `failure` says why, and `reopen` tries again.
    package convenience init(
        in directory: String, limits: Limits, realtime: @escaping () -> Int64 = Journal.now,
        logDisk: (any LogDisk)? = nil
    ) {
        self.init(directory, limits, checkedWhenOpened: 8 << 20, realtime, logDisk ?? DirectoryDisk(directory))
        do throws(JournalError) { try open() } catch {
            failure = error
            closeIndex()
            try? openForReading()
        }
    }

    /// Switched off once, before SQLite is used: it would take a lock whenever it allocates or frees memory.
    private static let memoryStatistics = sqlite3_config_memory_statistics(0)

    /// Whether the journal can be written.
    public var isOpen: Bool { failure == nil && log != nil && queue != nil && !isReadOnly }

    /// Whether only `reopen` may help.
    public var needsReopening: Bool { !isOpen || isUnsynced }

    /// Whether events can be deleted, also while nothing can be added.
    public var canDelete: Bool { queue != nil && log != nil && !isReadOnly }

    /// Whether the journal can be read, also while it cannot be written.
    public var isReadable: Bool { queue != nil }

    /// Whether new events can be accepted: the index takes what the log has. Otherwise the log has room for outcomes
    /// and claims.
    public var acceptsEvents: Bool { isOpen && indexFailure == nil }

    /// Opens what is closed after a failure.
    ///
    /// A frame that was not synced does not come back: the log gives its place to the next one.
    ///
    /// - Returns: whether the files were opened again.
    /// - Throws: if a file cannot be written. The index stays readable if it was.
    public func reopen() throws(JournalError) -> Bool {
        let isClosed = isReadOnly || isUnsynced || log == nil || queue == nil
        if isClosed {
            do throws(JournalError) {
                lastSequence = log?.lastSequence ?? lastSequence
                closeAll()
                try open(known: lastSequence)
            } catch {
                if queue == nil { try? openForReading() }
                throw error
            }
        }
        failure = nil
        try writeAbandonedAgain()
        return isClosed
    }

    /// The median time of the last syncs of the log; `nil` before the first one.
    public var syncTime: Duration? { log?.syncTime }
    /// Bytes of the log that the index does not have yet.
    public var waitingBytes: Int { pending.bytes }

    /// Whether the files that are open still have their names.
    public var isInPlace: Bool {
        guard let opened else { return true }
        return opened == FileIdentity(path) && log?.isInPlace ?? true
    }

    /// Begins afresh, because the directory or a file in it was deleted, moved or replaced. `reopen` opens what is
    /// there then.
    ///
    /// What the index had not got yet is written again then: some of it may have been acknowledged after the deletion.
    public func abandon() {
        if !pending.isEmpty {
            abandoned.records += pending.frames.flatMap(\.records)
            abandoned.last = pending.lastSequence
            abandoned.seed = seed
        }
        closeAll()
        lastSequence = nil
        failure = .gone
    }

    /// What the index had not got when the journal was abandoned.
    private struct Abandoned {
        var records: [LogRecord] = []
        /// The last frame of them, and the seed of their journal.
        var last: UInt64 = 0
        var seed: String?
    }

    private func writeAbandonedAgain() throws(JournalError) {
        guard !abandoned.records.isEmpty, let log else { return }
        // The same files may be back, and have them.
        if log.lastSequence < abandoned.last || abandoned.seed != seed {
            var accepted = 0
            for case .accepted(let event) in abandoned.records.lazy.map(\.record) {
                if try !holds(event.id) { accepted += 1 }
                newestID = max(newestID, Self.number(event.id))
            }
            try append(abandoned.records)
            count += accepted
        }
        abandoned = Abandoned()
    }

    public func close() {
        if isOpen {
            // After a crash the stored age is too low: events then stay longer. The log has what the index does not
            // get.
            try? fold()
            if retention.isDirty { try? saveRetention() }
            try? checkpoint(.truncate)
        }
        closeAll()
    }

    func closeAll() {
        log?.close()
        log = nil
        pending = Pending()
        closeIndex()
    }

    func closeIndex() {
        dropUnwritten()
        let connection = queue
        queue = nil
        indexFailure = nil
        // An error changes nothing: the file is opened again in any case.
        try? connection?.close()
        closed = connection ?? closed
        readLock = nil
        opened = nil
        isReadOnly = false
    }

    /// Drops the pages of the index that SQLite keeps to read them faster.
    public func releaseMemory() {
        queue?.inDatabase { db in _ = sqlite3_db_release_memory(db.sqliteConnection) }
    }

    /// Stops writing until `reopen`. The journal can still be read.
    public func stopWriting() { failure = failure ?? .other("writing was stopped") }

    /// Tests whether the log can be written, by writing if the last frame was refused, and whether the index takes what
    /// waits. The first success after the start writes the record `start`.
    public func probe() throws(JournalError) {
        if isStartDue {
            try append([LogRecord(.start(last: numbers.lastBefore, at: realtime()), number: numbers.next())])
            isStartDue = false
        } else if isLogSuspect {
            try append([])
        }
        // If it fails, `indexFailure` says why.
        try? fold()
    }

    /// The id as SQLite stores it. Ids begin at the microseconds since the epoch, so they never reach the sign bit.
    static func number(_ id: EventID) -> Int64 { Int64(bitPattern: id.rawValue) }

    /// The same for an id that a client sent. One with the sign bit set compares above all rows; as a negative number
    /// it would compare below them.
    static func bound(_ id: EventID) -> Int64 { Int64(clamping: id.rawValue) }

    package static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}

/// The numbers of changes. They are given when a record is logged, and grow in that order.
struct ChangeNumbers {
    /// The highest number that was given out.
    private(set) var last: Int64 = 0
    /// The highest number that may have no row, and is used up.
    var lastHole: Int64?
    /// The highest number that the journal had when it was opened.
    private(set) var lastBefore: UInt64 = 0
    /// The lowest number that was found in the files that are open.
    var lowest: Int64?
    /// The first change that is complete; `nil`: not known yet.
    var oldest: Int64?

    mutating func next() -> Int64 {
        last += 1
        return last
    }

    /// The next number, for something that has no row.
    mutating func nextHole() -> Int64 {
        lastHole = next()
        return last
    }

    /// A number that was found on the disk. A damaged one may be so high that none is left above it.
    mutating func include(_ number: Int64?) {
        guard let number, (1..<1 << 62).contains(number) else { return }
        last = max(last, number)
        lowest = min(lowest ?? number, number)
    }

    /// Numbers go on above those on the disk and above the time, so that they grow also after an older copy of the
    /// files was put in their place.
    mutating func continueAbove(time now: Int64) {
        lastBefore = UInt64(clamping: last)
        last = max(last, now)
    }
}
