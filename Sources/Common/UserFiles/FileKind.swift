import Glibc

/// The kind of a file. Opening a pipe or a device may block for ever, so only regular files are read.
package enum FileKind {
    /// Why a file cannot be read: a text that follows “it cannot be read”.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The kind of a file that is not a regular one, with its article; `nil` for a regular file, or if there is none.
    package static func obstacle(at path: String) -> String? {
        var status = stat()
        if stat(path, &status) == 0 { return name(of: status) }
        // Not a link among its folders.
        guard errno == ELOOP, lstat(path, &status) == 0 else { return nil }
        return "a symbolic link with too many levels, such as one that refers to itself"
    }

    /// A symbolic link that leads nowhere.
    package struct BrokenLink: Equatable, CustomStringConvertible {
        package let path: String
        /// As the link has it: relative to its folder, if it does not begin with `/`.
        let target: String

        package var description: String { "a symbolic link to \(target), which does not exist" }
    }

    /// The link because of which there is nothing at a path: at the path itself, or at one of the folders above it.
    package static func brokenLink(above path: String) -> BrokenLink? {
        var status = stat()
        let slashes = path.utf8.indices.dropFirst().filter { path.utf8[$0] == UInt8(ascii: "/") }
        for end in slashes + [path.utf8.endIndex] {
            let part = String(path[..<end])
            if stat(part, &status) == 0 { continue }
            guard errno == ENOENT, lstat(part, &status) == 0 else { return nil }
            var target = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = target.withUnsafeMutableBufferPointer { readlink(part, $0.baseAddress!, $0.count) }
            guard count >= 0 else { return nil }
            let bytes = target[..<count].map { UInt8(bitPattern: $0) }
            return BrokenLink(path: part, target: String(decoding: bytes, as: UTF8.self))
        }
        return nil
    }

    /// Reads a regular file from its beginning. `/dev/null` counts as an empty file, because a link to it masks a
    /// drop-in.
    ///
    /// - Returns: at most `limit` bytes, or `nil` if there is no such file.
    package static func read(_ path: String, atMost limit: Int) throws(Failure) -> [UInt8]? {
        // Without O_NONBLOCK, opening a pipe waits for a writer.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            // A socket cannot be opened.
            throw failure(errno, obstacle(at: path))
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure(errno, nil) }
        if let obstacle = name(of: status) {
            guard isNull(status) else { throw failure(0, obstacle) }
            return []
        }
        var bytes = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            let more = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress! + count, limit - count) }
            if more == 0 { break }
            if more > 0 { count += more } else if errno != EINTR { throw failure(errno, nil) }
        }
        return Array(bytes[..<count])
    }

    private static func failure(_ error: CInt, _ obstacle: String?) -> Failure {
        Failure(description: obstacle.map { "it is \($0), not a regular file" } ?? String(cString: strerror(error)))
    }

    private static func name(of status: stat) -> String? {
        switch status.st_mode & S_IFMT {
        case S_IFREG: nil
        case S_IFDIR: "a directory"
        case S_IFIFO: "a named pipe"
        case S_IFSOCK: "a socket"
        case S_IFCHR, S_IFBLK: "a device"
        default: "something else"
        }
    }

    /// The device 1:3; see null(4).
    private static func isNull(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFCHR && status.st_rdev == 1 << 8 | 3
    }
}
