import GRDB
import Glibc

/// What is looked at before a file is trusted, and a disk.
enum FileCheck {
    /// How much room a disk has to have before events are accepted again: what a few turns of the loop write.
    private static let room: off_t = 256 << 10

    /// Sees to it that the journal is a regular file of its user alone before SQLite gets it: SQLite would wait for good for
    /// a pipe, and gives its log the permissions that the file has at that moment.
    ///
    /// Call it only while this process has the file not open: closing a file takes away all locks of the process.
    static func prepare(_ path: String) throws(JournalError) {
        for name in [path, path + "-wal", path + "-shm"] {
            if let obstacle = FileKind.obstacle(at: name) {
                throw .obstacle("\(name) is \(obstacle), not a regular file")
            }
            chmod(name, 0o600)
        }
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        if file >= 0 { close(file) }
        // Why it cannot be made, SQLite tells.
    }

    /// SQLite takes a file whose format numbers are wrong for one that it may only read, or not even that, and not for a
    /// damaged one. See [the header](https://www.sqlite.org/fileformat2.html#the_database_header).
    static func hasUsableHeader(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        // What is not there will be made, and why it cannot be read will be told.
        guard file >= 0 else { return true }
        defer { close(file) }
        var header = [UInt8](repeating: 0, count: 48)
        let count = read(file, &header, header.count)
        guard count > 0 else { return true }
        return count == header.count && (1...2).contains(header[18]) && (1...2).contains(header[19])
            && header[44..<47].allSatisfy { $0 == 0 } && (0...4).contains(header[47])
    }

    /// In bytes; 0 where there is none.
    static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Looks at the whole file. Indexes that do not fit their table are made again; rows that were changed are left to
    /// their checksums.
    ///
    /// - Returns: whether everything was in its place.
    /// - Throws: `JournalError.damaged` where not even the pages fit together.
    static func check(_ queue: DatabaseQueue) throws -> Bool {
        let complaints = try queue.read { db in try String.fetchAll(db, sql: "PRAGMA integrity_check(20)") }
        if complaints == ["ok"] { return true }
        guard complaints.allSatisfy({ !$0.hasPrefix("***") && !$0.contains("malformed") }) else {
            throw JournalError.damaged
        }
        try queue.write { db in try db.execute(sql: "REINDEX") }
        return false
    }

    /// - Throws: when the disk has not enough room.
    static func makeRoom(beside path: String) throws(JournalError) {
        let name = path + ".room"
        // Whatever has the name: opening a pipe could wait for good.
        unlink(name)
        let file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw errno == ENOSPC || errno == EDQUOT ? .diskFull : .readOnly }
        defer {
            close(file)
            unlink(name)
        }
        switch posix_fallocate(file, 0, room) {
        case 0, EOPNOTSUPP, EINVAL: return
        case ENOSPC, EDQUOT, EFBIG: throw .diskFull
        default: throw .inputOutput
        }
    }
}
