import Glibc
import Journal
import Routing

/// Where the journal is, with a reserve that is released when the disk is full.
protocol Disk {
    /// Its name in messages.
    var name: String { get }
    /// Describes an error and, where known, its cause.
    func explanation(of error: JournalError) -> String
    func openJournal() throws(JournalError) -> any EventStore
    /// Opens a journal that cannot be written, read-only.
    func openJournalForReading() throws(JournalError) -> any EventStore
    var hasReserve: Bool { get }
    /// Makes the reserve, if there is none.
    ///
    /// - Returns: false if the disk has no room for it.
    func fillReserve() -> Bool
    func releaseReserve()
}

/// The state directory.
struct StateDirectory: Disk {
    let name: String
    private let limits: Limits
    private let reserve: DiskReserve

    init(_ path: String, limits: Limits) {
        name = path
        self.limits = limits
        reserve = DiskReserve(directory: path)
    }

    func explanation(of error: JournalError) -> String {
        guard error == .readOnly, let obstacle = WriteObstacle.description(of: name) else { return "\(error)" }
        return "\(error): \(obstacle)"
    }

    func openJournal() throws(JournalError) -> any EventStore { try Journal(directory: name, limits: limits) }
    func openJournalForReading() throws(JournalError) -> any EventStore {
        try Journal(readingIn: name, limits: limits)
    }

    var hasReserve: Bool { reserve.isFull }
    func fillReserve() -> Bool { reserve.fill() }
    func releaseReserve() { reserve.release() }
}

/// A file that reserves disk space. On a full disk SQLite cannot even delete rows, so the reserve is released first.
final class DiskReserve {
    /// As much as SQLite's log has before it is written to the file.
    private static let usual: off_t = 4 << 20
    /// On a small disk.
    private static let small: off_t = 256 << 10

    private let directory: String
    private var path: String { "\(directory)/ballast" }

    init(directory: String) {
        self.directory = directory
    }

    var isFull: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size >= Self.small
    }

    /// Reserves the space if there is plenty: the last megabytes of a disk belong to the journal.
    ///
    /// - Returns: false if there is no room. A file system that cannot reserve space has room as long as it can be written.
    func fill() -> Bool {
        guard !isFull else { return true }
        // Opening a pipe could block, a device has no space, and what a link leads to is not ours.
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG { unlink(path) }
        var space = statvfs()
        guard statvfs(directory, &space) == 0, space.f_blocks > 0 else { return true }
        let isLarge = UInt64(space.f_blocks) * UInt64(space.f_frsize) >= UInt64(4 * Self.usual)
        let bytes = isLarge ? Self.usual : Self.small
        // With less, what the release of the reserve has freed would become a reserve again.
        guard UInt64(space.f_bavail) * UInt64(space.f_frsize) > UInt64(2 * bytes) else { return false }
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return ![ENOSPC, EDQUOT].contains(errno) }
        defer { close(file) }
        let error = posix_fallocate(file, 0, bytes)
        if error != 0 { unlink(path) }
        return ![ENOSPC, EDQUOT].contains(error)
    }

    func release() {
        unlink(path)
    }
}
