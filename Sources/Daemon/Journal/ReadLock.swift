import Glibc

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
