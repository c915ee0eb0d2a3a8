import Glibc

/// Whether the files that the journal has open are still those that their names lead to.
///
/// SQLite goes on writing to a file that somebody has deleted or replaced, and the next start does not find what was
/// written. Two stat(2) before a transaction and two after it find that out before anything is acknowledged.
struct FilePresence {
    private struct File {
        let path: String
        let device: dev_t
        let inode: ino_t
        /// Only our own transactions make a file shorter.
        let size: off_t

        init(_ path: String) throws(JournalError) {
            var status = stat()
            guard stat(path, &status) == 0 else {
                switch errno {
                case ENOENT, ENOTDIR: throw .gone("\(path) was deleted or moved while notifyd had it open")
                case EACCES: throw .readOnly
                default: throw .inputOutput
                }
            }
            self.path = path
            device = status.st_dev
            inode = status.st_ino
            size = status.st_size
        }

        func isSame(as other: File) -> Bool { device == other.device && inode == other.inode }

        /// The same file as it is now.
        func found() throws(JournalError) -> File {
            let now = try File(path)
            guard isSame(as: now) else { throw .gone("\(path) was replaced while notifyd had it open") }
            return now
        }
    }

    private var file: File
    private var log: File

    /// - Parameter path: a journal that was opened just now.
    init(_ path: String) throws(JournalError) {
        file = try File(path)
        log = try File(path + "-wal")
    }

    /// To be called before a transaction.
    ///
    /// - Throws: `JournalError.gone` where a name leads elsewhere, or to less than there was.
    func check() throws(JournalError) {
        for known in [file, log] where try known.found().size < known.size {
            throw .gone("\(known.path) was truncated while notifyd had it open")
        }
    }

    /// To be called after a transaction, and after whatever else makes a file shorter.
    mutating func record() throws(JournalError) {
        file = try file.found()
        log = try log.found()
    }

    /// Whether the name of the log still leads to it.
    var isLogInPlace: Bool {
        guard let now = try? File(log.path) else { return false }
        return log.isSame(as: now)
    }

    /// Whether the name leads to the file itself, whatever may be with its log.
    var isFileInPlace: Bool {
        guard let now = try? File(file.path) else { return false }
        return file.isSame(as: now)
    }
}
