import GRDB
import Glibc

/// Checks of files and of the disk.
enum FileCheck {
    /// Prepares the files for SQLite: each must be a regular file with mode 0600. Opening a pipe would block for ever,
    /// a link may lead to a file that is not ours, and SQLite gives its log the mode of the file.
    ///
    /// Call it only while this process does not have the file open: closing a file releases all locks of the process.
    static func prepare(_ path: String) throws(JournalError) {
        for name in [path, path + "-wal", path + "-shm"] {
            if let obstacle = JournalError.obstacle(at: name) { throw obstacle }
            chmod(name, 0o600)
        }
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        if file >= 0 { close(file) }
        // SQLite reports why it cannot be made.
    }

    /// Whether the format numbers of the header are valid. SQLite does not report wrong ones as damage: it opens the
    /// file for reading only, or not at all. See
    /// [the header](https://www.sqlite.org/fileformat2.html#the_database_header).
    static func hasUsableHeader(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        // A missing file is made later, and an unreadable one is reported later.
        guard file >= 0 else { return true }
        defer { close(file) }
        var header = [UInt8](repeating: 0, count: 48)
        let count = read(file, &header, header.count)
        guard count > 0 else { return true }
        return count == header.count && (1...2).contains(header[18]) && (1...2).contains(header[19])
            && header[44..<47].allSatisfy { $0 == 0 } && (0...4).contains(header[47])
    }

    /// The URI of a file, for [SQLite](https://www.sqlite.org/uri.html).
    static func uri(_ path: String, _ parameters: String) -> String {
        let path = path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
        return "file:\(path)?\(parameters)"
    }

    /// The size of a file, in bytes; 0 if there is none.
    static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Whether pages and indexes of the whole file are sound. Checksums find damaged rows.
    static func isSound(_ db: Database) throws -> Bool {
        try String.fetchOne(db, sql: "PRAGMA integrity_check(1)") == "ok"
    }
}
