import GRDB
import Glibc
import Routing
import UserFiles

/// Reading a journal that cannot be written.
///
/// After a failed transaction the connection can still read, because SQLite does not show the transaction to it. Without such a
/// connection, the file is opened for reading only. That needs no space, and works on a read-only file system, with a log and
/// without one. It does not work
/// - for a file of an earlier version, which must be migrated first;
/// - for a damaged file;
/// - while another process writes the file;
/// - if SQLite was built without `SQLITE_USE_URI`, because GRDB has no other way to name a VFS.
extension Journal {
    /// Opens the file without writing anything.
    func openForReading() throws(JournalError) {
        do {
            guard access(path, R_OK) == 0, FileKind.obstacle(at: path) == nil else { throw JournalError.readOnly }
            guard FileCheck.size(path) > 0, FileCheck.hasUsableHeader(path) else { throw JournalError.damaged }
            let lock = try ReadLock(path)
            var configuration = Configuration()
            configuration.readonly = true
            configuration.prepareDatabase { db in
                // Keeps the index of the log in memory. SQLite would otherwise make a file for it.
                try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -2048")
            }
            let queue = try DatabaseQueue(path: readOnlyURI, configuration: configuration)
            try Self.expectingDamage {
                guard try JournalSchema.state(of: queue).isComplete else {
                    throw JournalError.other("the journal was written by an earlier notifyd, and is converted first")
                }
                try JournalSchema.verify(queue)
            }
            count = try queue.read { db in
                try self.loadSeed(db)
                try self.loadChanges(db)
                return try self.loadRetention(db) ?? Self.countOfEvents(db)
            }
            reader = queue
            readLock = lock
        } catch {
            throw JournalError(error)
        }
    }

    /// See [URI file names](https://www.sqlite.org/uri.html). `unix-none` takes no locks; SQLite would take a write lock. SQLite
    /// would also create a missing log; `immutable` prevents that, and ignores an existing one.
    private var readOnlyURI: String {
        let hasLog = FileCheck.size(path + "-wal") > 0
        return "file:\(FileCheck.escapedForURI(path))?" + (hasLog ? "mode=ro&vfs=unix-none" : "immutable=1")
    }

    /// Makes the journal readable after writing has failed, if possible.
    ///
    /// - Parameter refused: events that were not acknowledged. If one of them is in the file, nothing can be read.
    func readOnly(without refused: [EventID]) {
        stopWriting()
        guard unlinked == nil else { return }
        if reader == nil { try? openForReading() }
        guard let reader, !refused.isEmpty else { return }
        let isClean = try? reader.read { db in
            try refused.allSatisfy { id in
                try Int64.fetchOne(db, sql: "SELECT id FROM event WHERE id = ?", arguments: [Self.number(id)]) == nil
            }
        }
        if isClean != true { closeLinked() }
    }
}
