import Glibc
import UserFiles

extension JournalError {
    /// Describes it and, where known, its cause.
    ///
    /// - Parameter directory: that of the journal.
    public func explanation(in directory: String) -> String {
        self == .readOnly ? WriteObstacle.description(of: directory) ?? description : description
    }
}

/// Why the state directory cannot be written, and what would be right, as text.
enum WriteObstacle {
    /// - Returns: `nil` if no obstacle is found.
    static func description(of directory: String) -> String? {
        var status = stat()
        guard stat(directory, &status) == 0 else {
            if let link = FileKind.obstacle(at: directory) { return "\(directory) is \(link); move it away" }
            if let link = FileKind.brokenLink(above: directory) {
                return "\(link.path) is \(link); make that directory, or remove the link"
            }
            guard let parent = parent(of: directory), let obstacle = obstacle(parent) else { return nil }
            return isReadOnly(parent)
                ? "\(directory) does not exist, and \(obstacle); if it was deleted while notifyd ran, the sandbox of "
                    + "the unit allows no new one: systemctl --user restart notifyd"
                : obstacle
        }
        let file = "\(directory)/\(Journal.fileName)"
        if let obstacle = obstacle(directory) { return obstacle }
        return [file, file + "-wal"].lazy.compactMap(foreignOwner).first
    }

    /// The nearest existing parent directory. Missing ones would be made in it.
    private static func parent(of path: String) -> String? {
        var path = path[...]
        while let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            path = path[..<slash]
            if access(String(path), F_OK) == 0 { return String(path) }
        }
        return "/"
    }

    private static func obstacle(_ directory: String) -> String? {
        var status = stat()
        guard stat(directory, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFDIR else { return "\(directory) is not a directory; move it away" }
        if isReadOnly(directory) { return "\(directory) is on a file system that is mounted read-only" }
        if let foreign = foreignOwner(directory) { return foreign }
        guard access(directory, W_OK | X_OK) != 0 else { return nil }
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return "\(directory) has the mode \(mode); allow its owner to write: chmod u+rwx '\(directory)'"
    }

    private static func isReadOnly(_ path: String) -> Bool {
        var system = statvfs()
        return statvfs(path, &system) == 0 && system.f_flag & UInt(ST_RDONLY) != 0
    }

    private static func foreignOwner(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_uid != geteuid(), access(path, W_OK) != 0 else { return nil }
        return "\(path) belongs to the user \(status.st_uid), and notifyd runs as \(geteuid()); "
            + "give it back, or move it away"
    }
}
