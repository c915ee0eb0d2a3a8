import GRDB

/// The integrity check of a large file. The file does not change meanwhile, because checkpoints are off.
extension Journal {
    /// The greatest size of the log during a check, in bytes. Then the check is cancelled.
    static let logLimit = 64 << 20

    /// Stops checkpoints until `endIntegrityCheck`.
    ///
    /// - Returns: the path for `IntegrityCheck.init(of:)`. Use that in another process: closing the file in this one would release
    ///   this process's locks.
    /// - Throws: if the checkpoint before the check fails; the journal is closed then.
    public func beginIntegrityCheck() throws(JournalError) -> String {
        guard let queue else { throw .other("the journal is closed") }
        do {
            _ = try queue.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
            try recordPresence()
        } catch {
            throw giveUp(error)
        }
        // The pages that were in the log are not known any more.
        scrubbedPages = 1
        countAtCheck = count
        isCheckpointingPaused = true
        return path
    }

    /// Takes the result of the check. It has no effect if the file was opened again since `beginIntegrityCheck`.
    ///
    /// - Parameter result: the result. If the check could not be made, the events are counted here, and damage is noticed when it
    ///   is read.
    /// - Throws: `JournalError.damaged`, with the journal closed. `reopen` then checks again, and rebuilds indexes or sets the file
    ///   aside.
    public func endIntegrityCheck(_ result: IntegrityCheck) throws(JournalError) {
        guard let queue, isCheckpointingPaused else { return }
        if result == .damaged { throw giveUp(JournalError.damaged) }
        try resumeCheckpointing(queue, result)
        isChecked = true
    }

    /// Cancels a check during which the log has grown to its limit, or so that the disk would soon have no room to write it to the
    /// file. Its result has no effect, and another check may begin.
    func limitLog() throws(JournalError) {
        guard let queue, isCheckpointingPaused else { return }
        let log = FileCheck.size(path + "-wal")
        let free = FileCheck.freeSpace(directory) ?? .max
        guard log > Self.logLimit || log > checkpointBytes && free < log + 2 * checkpointBytes else { return }
        try resumeCheckpointing(queue, .failed)
    }

    /// Resumes checkpoints. The number of events comes from the result, or is counted.
    private func resumeCheckpointing(_ queue: DatabaseQueue, _ result: IntegrityCheck) throws(JournalError) {
        isCheckpointingPaused = false
        isScrubbing = false
        scrubbedPages = 1
        do {
            try queue.inDatabase { db in
                if case .sound(let events) = result {
                    self.count += events - self.countAtCheck
                } else {
                    self.count = try Self.countOfEvents(db)
                }
            }
        } catch {
            throw giveUp(error)
        }
    }
}
