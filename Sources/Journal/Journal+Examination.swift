import GRDB

/// A large file is looked at while it is in use: it holds still, and what is written meanwhile stays in the log.
extension Journal {
    /// The log may grow to this size, in bytes, before an examination is given up for it.
    static let logLimit = 64 << 20

    /// Has the file hold still until `endExamination`.
    ///
    /// - Returns: the path for `Examination.init(of:)`, which is to be used in another process: closing the file there would
    ///   take away the locks of this one.
    /// - Throws: when the log cannot be emptied into the file; the journal is closed then.
    public func beginExamination() throws(JournalError) -> String {
        guard let queue else { throw .other("the journal is closed") }
        do {
            try queue.writeWithoutTransaction { db in
                _ = try db.checkpoint(.truncate)
                try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
            }
            try recordPresence()
        } catch {
            throw giveUp(error)
        }
        countWhenExamined = count
        holdsStill = true
        return path
    }

    /// Has no effect where the file did not hold still, because it has been opened anew since.
    ///
    /// - Parameter result: what was found. Where nobody could look, the events are counted here, and damage is noticed
    ///   where it is read.
    /// - Throws: `JournalError.damaged`, with the journal closed; `reopen` looks again, and makes indexes anew or sets the
    ///   file aside.
    public func endExamination(_ result: Examination) throws(JournalError) {
        guard let queue, holdsStill else { return }
        if result == .damaged { throw giveUp(JournalError.damaged) }
        try moveOn(queue, result)
        isExamined = true
    }

    /// Gives an examination up that takes so long that the log would have no limit. What comes of it means nothing then, and
    /// another may begin.
    func limitLog() throws(JournalError) {
        guard let queue, holdsStill, FileCheck.size(path + "-wal") > Self.logLimit else { return }
        try moveOn(queue, .failed)
    }

    /// The file need not hold still any longer; how many events there are comes from the result or is counted.
    private func moveOn(_ queue: DatabaseQueue, _ result: Examination) throws(JournalError) {
        holdsStill = false
        do {
            try queue.inDatabase { db in
                try db.execute(sql: "PRAGMA wal_autocheckpoint = \(Self.checkpointPages)")
                if case .sound(let events) = result {
                    self.count += events - self.countWhenExamined
                } else {
                    self.count = try Self.countOfEvents(db)
                }
            }
        } catch {
            throw giveUp(error)
        }
    }
}
