import GRDB
import GRDBSQLite

/// Transactions, and what an error does to the journal.
extension Journal {
    /// Runs a transaction. If it fails, the journal can only be read until `reopen`.
    ///
    /// - Parameter isAcknowledged: whether a client is told that the rows are on disk.
    func write<Result>(
        isAcknowledged: Bool = false, _ body: (Database) throws -> Result
    ) throws(JournalError) -> Result {
        guard let queue else { throw .other("the journal is closed") }
        recent = nil
        var isCommitted = false
        do {
            try presence?.check()
            let result = try queue.writeWithoutTransaction { db in
                let statements = try self.usualStatements(db)
                // GRDB's own transaction would be parsed each time.
                try FastStatement.run(statements.begin)
                do {
                    let result = try body(db)
                    try FastStatement.run(statements.commit)
                    return result
                } catch {
                    // The error of the rollback does not matter: the file is closed below.
                    let reason = JournalError(error, on: db.sqliteConnection)
                    if db.isInsideTransaction { try? db.rollback() }
                    throw reason
                }
            }
            isCommitted = true
            try presence?.committed()
            try checkpointIfDue(queue)
            return result
        } catch {
            // A committed event that is refused must not be read.
            throw giveUp(error, isReadable: !isCommitted || !isAcknowledged)
        }
    }

    func usualStatements(_ db: Database) throws -> UsualStatements {
        if let statements { return statements }
        let prepared = try UsualStatements(db)
        statements = prepared
        return prepared
    }

    /// Writes the log to the file when it is long. SQLite would do so within the transaction, and then nobody could tell whether
    /// another program has written to the file.
    private func checkpointIfDue(_ queue: DatabaseQueue) throws(JournalError) {
        guard !isCheckpointingPaused, !isScrubbing, pagesInLog >= checkpointPages else { return }
        // What fails is tried again after the next transaction; the log has everything.
        _ = try? queue.writeWithoutTransaction { db in try db.checkpoint(.passive) }
        try presence?.record()
    }

    /// Has SQLite tell how many pages the log has after each transaction, in place of its own checkpoints.
    ///
    /// [sqlite3_wal_hook](https://sqlite.org/c3ref/wal_hook.html)
    func watchLog(_ db: Database) {
        pagesInLog = 0
        let journal = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_wal_hook(
            db.sqliteConnection,
            { journal, _, _, pages in
                Unmanaged<Journal>.fromOpaque(journal!).takeUnretainedValue().pagesInLog = Int(pages)
                return SQLITE_OK
            }, journal)
    }

    /// The connection for reading.
    var readableQueue: DatabaseQueue? {
        guard let unlinked else { return queue ?? reader }
        // The file that has the name now holds less.
        return queue ?? (unlinked.isReadable ? unlinked.queue : nil)
    }

    /// Reads. If the file is damaged, the journal is closed.
    func read<Result>(_ body: (Database) throws -> Result) throws(JournalError) -> Result {
        guard let queue = readableQueue else { throw .other("the journal is closed") }
        do {
            // GRDB's own `read` sets `PRAGMA query_only`, and with that SQLite forgets how it runs its prepared statements, those
            // for writing too. Nothing writes between two statements: there is one connection, and one thread.
            return try queue.unsafeRead(body)
        } catch {
            let error = JournalError(error)
            throw error == .damaged ? giveUp(error) : error
        }
    }

    /// Stops writing because of an error. A file that has lost its name stays open until its contents are carried over.
    ///
    /// - Parameter isReadable: whether the connection still reads the state before the error.
    func giveUp(_ error: any Error, isReadable: Bool = true) -> JournalError {
        let error = Self.reason(error, of: queue)
        recent = nil
        switch error {
        case .damaged:
            isSuspect = true
            closeLinked()
        case .gone:
            isSuspect = true
            if let queue, let presence, !presence.isFileInPlace, unlinked == nil {
                unlinked = UnlinkedFile(queue: queue, presence: presence, isReadable: isReadable)
                self.queue = nil
            } else if let queue, let presence, unlinked == nil {
                // The file has its name, and was truncated or overwritten.
                loss = Loss(file: presence.changedFile)
                salvage(from: queue)
            }
            closeLinked()
        default:
            if isReadable { stopWriting() } else { closeLinked() }
        }
        return error
    }
}
