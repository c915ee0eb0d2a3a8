import Glibc
import Journal

/// A file that only takes up room: on a full disk SQLite cannot even delete, so the ballast goes overboard and old events
/// can make room.
final class Ballast {
    private static let bytes: off_t = 4 << 20

    private let directory: String
    private var path: String { "\(directory)/ballast" }

    init(directory: String) {
        self.directory = directory
    }

    var isFull: Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size >= Self.bytes
    }

    /// Takes the room, if there is plenty: the last megabytes of a disk belong to the journal.
    func fill() {
        guard !isFull else { return }
        // Opening a pipe could wait for good, and a device has no room.
        if FileKind.obstacle(at: path) != nil { unlink(path) }
        var space = statvfs()
        guard statvfs(directory, &space) == 0,
            UInt64(space.f_bavail) * UInt64(space.f_bsize) > UInt64(4 * Self.bytes)
        else { return }
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        if posix_fallocate(file, 0, Self.bytes) != 0 { unlink(path) }
    }

    func giveUp() {
        unlink(path)
    }
}
