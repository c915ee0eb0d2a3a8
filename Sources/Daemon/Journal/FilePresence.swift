import CLinux
import Glibc

/// Tells whether the open files of the journal still have their names, and whether others have written to them.
///
/// SQLite continues to write to a deleted or replaced file, and the next start does not find what was written. Two calls of
/// statx(2) before a transaction and two after it detect that before an event is acknowledged.
///
/// Between our checkpoints nobody but another program writes to the file itself, so its time tells whether one has. For the
/// log, which every transaction writes, the calls do not ask for the time. A kernel with multigrain timestamps gives the first
/// write after such a call a new time, and the next fdatasync(2) then writes the inode as well.
struct FilePresence {
    private struct Moment: Equatable {
        let seconds: Int64
        let nanoseconds: UInt32
    }

    private struct File {
        let path: String
        let device: (UInt32, UInt32)
        let inode: UInt64
        /// Only our own checkpoints make a file shorter.
        let size: UInt64
        /// When it was last written; `nil` for the log.
        let written: Moment?

        /// - Parameters:
        ///   - isTimed: whether its time is of interest.
        ///   - followsLinks: a link in the place of the file is another file to the next start.
        init(_ path: String, isTimed: Bool = false, followsLinks: Bool = false) throws(JournalError) {
            var status = statx()
            let flags = followsLinks ? 0 : AT_SYMLINK_NOFOLLOW
            let facts = STATX_INO | STATX_SIZE | (isTimed ? STATX_MTIME : 0)
            guard statx(AT_FDCWD, path, flags, UInt32(facts), &status) == 0 else {
                switch errno {
                case ENOENT, ENOTDIR: throw .gone("\(path) was deleted or moved while notifyd had it open")
                case EACCES: throw .readOnly
                default: throw .inputOutput
                }
            }
            self.path = path
            device = (status.stx_dev_major, status.stx_dev_minor)
            inode = status.stx_ino
            size = status.stx_size
            written = isTimed ? Moment(seconds: status.stx_mtime.tv_sec, nanoseconds: status.stx_mtime.tv_nsec) : nil
        }

        func isSame(as other: File) -> Bool { device == other.device && inode == other.inode }

        /// Whether the name still leads to the file.
        var isInPlace: Bool {
            guard let now = try? File(path) else { return false }
            return isSame(as: now)
        }

        /// The present state of the file.
        func found() throws(JournalError) -> File {
            let now = try File(path, isTimed: written != nil)
            guard isSame(as: now) else { throw .gone("\(path) was replaced while notifyd had it open") }
            return now
        }

        /// What another program has done to the file since; `nil`: nothing.
        func damage() throws(JournalError) -> String? {
            let now = try found()
            if now.size < size { return "truncated" }
            return now.written == written ? nil : "overwritten"
        }

        /// - Throws: `JournalError.gone` if another program has changed the file or its name.
        func check() throws(JournalError) {
            if let damage = try damage() { throw .gone("\(path) was \(damage) while notifyd had it open") }
        }
    }

    private var file: File
    private var log: File
    /// The name that the journal was opened by, if a link leads from it to the file. SQLite names the log after the file.
    private let link: String?

    /// - Parameter path: a journal that was opened just now.
    init(_ path: String) throws(JournalError) {
        let resolved = realpath(path, nil).map { pointer in
            defer { free(pointer) }
            return String(cString: pointer)
        }
        link = resolved == path ? nil : path
        file = try File(resolved ?? path, isTimed: true)
        log = try File((resolved ?? path) + "-wal")
    }

    /// Call it before a transaction.
    ///
    /// - Throws: `JournalError.gone` if a name leads to another file, if a file is shorter than before, or if the file was
    ///   written since.
    func check() throws(JournalError) {
        if let link, !isReached(by: link) { throw .gone("\(link) was replaced while notifyd had it open") }
        try file.check()
        try log.check()
    }

    /// The file for which `check` throws.
    var changedFile: String {
        do throws(JournalError) { return try file.damage() == nil ? log.path : file.path } catch { return file.path }
    }

    /// Call it after a transaction, and before its checkpoint.
    ///
    /// - Throws: as `check`: another program may have written to the file during the transaction.
    mutating func committed() throws(JournalError) {
        try file.check()
        // SQLite makes a log shorter when it begins it anew.
        log = try log.found()
    }

    /// Call it after a checkpoint: the file is written by that.
    mutating func record() throws(JournalError) {
        file = try file.found()
        log = try log.found()
    }

    /// Whether the name of the log still leads to it.
    var isLogInPlace: Bool { log.isInPlace }

    /// Whether the name still leads to the file, apart from its log.
    var isFileInPlace: Bool { file.isInPlace && link.map(isReached) ?? true }

    /// Whether a name leads to the file, perhaps by a link.
    func isReached(by name: String) -> Bool {
        (try? File(name, followsLinks: true)).map(file.isSame) ?? false
    }
}
