import DequeModule
import GRDB

/// Transactions of the index, and what an error does to the journal.
extension Journal {
    /// Runs a transaction. It is on the disk with the next checkpoint; until then the log has what it tells.
    func write<Result>(_ body: (Database) throws -> Result) throws(JournalError) -> Result {
        guard let queue, !isReadOnly else { throw failure ?? .other("the journal is closed") }
        guard !isUnsynced else { throw indexFailure ?? .inputOutput }
        dropUnwritten()
        let before = (numbers, globalIDs, tombstoneCount)
        do { return try queue.write(body) } catch {
            (numbers, globalIDs, tombstoneCount) = before
            throw giveUp(error)
        }
    }

    /// Reads everything that was committed: the index is filled first.
    func read<Result>(_ body: (Database) throws -> Result) throws(JournalError) -> Result {
        if indexFailure == nil {
            do throws(JournalError) {
                try fold()
                return try readIndex(body)
            } catch {
                guard error != .damaged, indexFailure != nil else { throw error }
            }
        }
        try applyUnwritten()
        return try readIndex(body)
    }

    /// Reads the index as it is. If it is damaged, the journal is closed.
    func readIndex<Result>(_ body: (Database) throws -> Result) throws(JournalError) -> Result {
        guard let queue else { throw failure ?? .other("the journal is closed") }
        // GRDB's own `read` sets `PRAGMA query_only`, and with that SQLite forgets how it runs its prepared statements.
        // Nothing writes between two statements: there is one connection, and one thread.
        do { return try queue.unsafeRead(body) } catch { throw giveUp(error) }
    }

    /// Applies what waits while the index cannot be filled, such as on a full disk, in a transaction that stays in
    /// memory. It is rolled back before anything is written.
    private func applyUnwritten() throws(JournalError) {
        guard let queue else { throw failure ?? .other("the journal is closed") }
        do {
            try queue.writeWithoutTransaction { db in
                if self.unwrittenFrames == nil {
                    try db.execute(sql: "PRAGMA cache_spill = OFF; BEGIN IMMEDIATE")
                }
                var batch = FoldBatch(tombstones: self.tombstoneCount, globalIDs: self.globalIDs)
                for frame in self.pending.frames.dropFirst(self.unwrittenFrames ?? 0) {
                    for entry in frame.records { try self.apply(entry, of: frame.sequence, to: &batch, db) }
                }
                try batch.flush(db)
            }
            unwrittenFrames = pending.frames.count
        } catch {
            unwrittenFrames = unwrittenFrames ?? 0
            dropUnwritten()
            throw giveUp(error)
        }
    }

    /// Rolls back what `applyUnwritten` did.
    func dropUnwritten() {
        guard unwrittenFrames != nil else { return }
        unwrittenFrames = nil
        try? queue?.writeWithoutTransaction { db in
            // After some errors there is nothing left to roll back.
            try? db.execute(sql: "ROLLBACK")
            try db.execute(sql: "PRAGMA cache_spill = ON")
        }
    }

    /// What an error of the index means. A damaged index is closed, and checked when it is opened again.
    func giveUp(_ error: any Error) -> JournalError {
        let isSync = (error as? DatabaseError)?.extendedResultCode == .SQLITE_IOERR_FSYNC
        let error = Self.reason(error, of: queue)
        if isSync { (isUnsynced, areZerosDoubtful, indexFailure) = (true, true, error) }
        guard error == .damaged else { return error }
        isSuspect = true
        failure = .damaged
        closeIndex()
        return error
    }
}
