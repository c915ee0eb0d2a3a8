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
    /// The limit for the journal's log, in bytes.
    var logLimit: Int { get }
    /// Whether the journal can take so many more bytes. The log counts as free: it is written again from its beginning.
    ///
    /// - Parameter isTried: whether the space is reserved for a moment, which finds out about quotas.
    func hasRoom(for bytes: Int, isTried: Bool) -> Bool
    var hasReserve: Bool { get }
    /// The bytes that the reserve lacks.
    var missingReserve: Int { get }
    /// Makes the reserve.
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

    var logLimit: Int { Journal.logLimit(in: name) }

    func hasRoom(for bytes: Int, isTried: Bool) -> Bool {
        Journal.hasRoom(for: bytes, in: name, isTried: isTried)
    }

    var hasReserve: Bool { reserve.isThere }
    var missingReserve: Int { reserve.missing }
    func fillReserve() -> Bool { reserve.fill() }
    func releaseReserve() { reserve.release() }
}

/// A file that reserves disk space. On a disk that others have filled, SQLite cannot even delete rows, so the reserve is released
/// first. It has room for a checkpoint of the whole log, which makes the file larger, and for the deletions after it.
final class DiskReserve {
    /// For a log of its usual size.
    private static let largest = 8 << 20
    private static let smallest = 256 << 10

    private let directory: String
    private var path: String { "\(directory)/ballast" }

    init(directory: String) {
        self.directory = directory
    }

    var isThere: Bool { size >= Self.smallest }

    /// The bytes that it lacks. A smaller one of an earlier version, or on a disk that has grown, is good enough.
    var missing: Int { isThere ? 0 : wanted - size }

    private var wanted: Int { min(Self.largest, max(Self.smallest, 4 * Journal.logLimit(in: directory))) }

    private var size: Int {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : 0
    }

    /// - Returns: false if there is no room. A file system that cannot reserve space has room as long as it can be written.
    func fill() -> Bool {
        guard !isThere else { return true }
        // Opening a pipe could block, a device has no space, and what a link leads to is not ours.
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG { unlink(path) }
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return ![ENOSPC, EDQUOT].contains(errno) }
        defer { close(file) }
        let error = posix_fallocate(file, 0, off_t(wanted))
        if error != 0 { unlink(path) }
        return ![ENOSPC, EDQUOT].contains(error)
    }

    func release() {
        unlink(path)
    }
}
