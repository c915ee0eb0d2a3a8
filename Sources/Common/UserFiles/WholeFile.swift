import Glibc

/// Writes a file as a whole: whoever reads it, or whatever fails, finds the old file or the new one, and no half of
/// either.
///
/// The new file is written beside the old one, and takes its place, mode and owner. A symbolic link stays: what it
/// leads to is replaced.
package enum WholeFile {
    /// Why a file could not be written; it is as it was.
    package struct Failure: Error, Equatable, CustomStringConvertible {
        /// A text that follows “it cannot be written”.
        package let description: String

        init(_ description: String) { self.description = description }

        init(_ number: CInt) { self.init(String(cString: strerror(number))) }
    }

    /// - Parameters:
    ///   - mode: of the file if there is none yet.
    ///   - isNew: whether there must be none yet.
    package static func write(
        _ text: String, to path: String, mode: UInt32 = 0o600, isNew: Bool = false
    ) throws(Failure) {
        if let link = FileKind.brokenLink(above: path) {
            throw Failure("\(link.path == path ? "it" : link.path) is \(link)")
        }
        if isNew, access(path, F_OK) == 0 { throw Failure(EEXIST) }
        let target = try target(of: path)
        var old = stat()
        let exists = stat(target, &old) == 0
        if exists {
            if let obstacle = FileKind.obstacle(at: target) { throw Failure("it is \(obstacle), not a regular file") }
            // To be replaced it needs no such permission, but who has taken it away did not want it changed.
            guard access(target, W_OK) == 0 else { throw Failure(errno) }
        }
        let (file, draft) = try makeDraft(beside: target)
        do throws(Failure) {
            defer { close(file) }
            try keep(exists ? old : nil, mode, file)
            try write(text, file)
            guard fsync(file) == 0 else { throw Failure(errno) }
        } catch {
            unlink(draft)
            throw error
        }
        guard rename(draft, target) == 0 else {
            let failure = Failure(errno)
            unlink(draft)
            throw failure
        }
        syncFolder(of: target)
    }

    private static func target(of path: String) throws(Failure) -> String {
        guard let real = realpath(path, nil) else {
            guard errno == ENOENT else { throw Failure(errno) }
            return path
        }
        defer { free(real) }
        return String(cString: real)
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func makeDraft(beside target: String) throws(Failure) -> (CInt, path: String) {
        var template = Array((target + ".XXXXXX").utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else {
            let failure = Failure(errno)
            guard [EACCES, EPERM, EROFS].contains(errno) else { throw failure }
            throw Failure(
                "a whole new file is written beside it, which the folder \(folder(of: target)) does not allow: \(failure)"
            )
        }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        return (file, template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) })
    }

    /// Gives the draft the owner and the mode of the file that it replaces.
    private static func keep(_ old: stat?, _ mode: UInt32, _ file: CInt) throws(Failure) {
        if let old, old.st_uid != geteuid() || old.st_gid != getegid(), fchown(file, old.st_uid, old.st_gid) != 0 {
            throw Failure("it belongs to another user or group, and a new file would not")
        }
        guard fchmod(file, old.map { $0.st_mode & 0o7777 } ?? mode) == 0 else { throw Failure(errno) }
    }

    private static func write(_ text: String, _ file: CInt) throws(Failure) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count >= 0 { bytes = bytes.dropFirst(count) } else if errno != EINTR { throw Failure(errno) }
        }
    }

    /// After a power cut the new name may be missing without this; the file itself is whole either way.
    private static func syncFolder(of path: String) {
        let folder = open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }
}
