import GRDB
import Glibc
import Routing

/// Reading a journal that cannot be written.
///
/// The files are opened for reading only. That needs no space, and works on a read-only file system, with a write-ahead
/// log of SQLite and without one. It does not work
/// - for a damaged file;
/// - while another process writes the file;
/// - if SQLite was built without `SQLITE_USE_URI`, because GRDB has no other way to name a VFS.
extension Journal {
    /// Opens the files without writing anything.
    func openForReading() throws(JournalError) {
        do {
            guard access(path, R_OK) == 0, JournalError.obstacle(at: path) == nil else { throw JournalError.readOnly }
            guard FileCheck.size(path) > 0, FileCheck.hasUsableHeader(path) else { throw JournalError.damaged }
            let lock = try ReadLock(path)
            var configuration = Configuration()
            configuration.readonly = true
            configuration.prepareDatabase { db in
                // Keeps the index of the log in memory. SQLite would otherwise make a file for it.
                try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -2048")
            }
            let queue = try DatabaseQueue(path: readOnlyURI, configuration: configuration)
            switch try IndexSchema.state(of: queue) {
            case .newer: throw JournalError.tooNew
            case .earlier, .empty: throw JournalError.damaged
            case .present: try Self.expectingDamage { try IndexSchema.verify(queue) }
            }
            try queue.read { db in try self.load(db) }
            self.queue = queue
            readLock = lock
            isReadOnly = true
            try readLog()
            numbers.continueAbove(time: realtime())
        } catch {
            closeIndex()
            throw JournalError(error)
        }
    }

    /// What the index does not have is added to a copy of it in memory.
    private func readLog() throws {
        pending = Pending()
        let applied = try storedSequence()
        _ = try WriteAheadLog.read(on: disk, after: applied) { sequence, payload throws(JournalError) in
            try self.replay(sequence, payload)
        }
        guard !pending.isEmpty else { return }
        guard let file = queue, FileCheck.size(path) <= Self.largestCopy else {
            throw JournalError.other("the index lacks records of the log, and cannot be written")
        }
        let copy = try DatabaseQueue()
        try file.backup(to: copy)
        queue = copy
        try? file.close()
        isReadOnly = false
        defer { isReadOnly = true }
        try fold()
    }

    /// In bytes.
    private static let largestCopy = 64 << 20

    /// `unix-none` takes no locks; SQLite would take a write lock. SQLite would also create a missing log; `immutable`
    /// prevents that, and ignores an existing one.
    private var readOnlyURI: String {
        FileCheck.uri(path, FileCheck.size(path + "-wal") > 0 ? "mode=ro&vfs=unix-none" : "immutable=1")
    }
}

/// SQLite's shared lock, for a connection that takes none. While it is held, no other process writes the file.
///
/// SQLite's own connection cannot take it on a read-only file, because exclusive locking mode needs a write lock. The
/// bytes are those of the [file format](https://www.sqlite.org/src/file/src/os.h).
final class ReadLock {
    private static let firstSharedByte: off_t = 0x4000_0002
    private static let sharedBytes: off_t = 510

    private let file: CInt

    /// - Throws: `JournalError.inUse` if another process writes the file.
    init(_ path: String) throws(JournalError) {
        file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw .readOnly }
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = Self.firstSharedByte
        lock.l_len = Self.sharedBytes
        // Some file systems do not support locks.
        guard fcntl(file, F_SETLK, &lock) != 0, errno == EAGAIN || errno == EACCES else { return }
        close(file)
        throw .inUse
    }

    deinit {
        close(file)
    }
}
