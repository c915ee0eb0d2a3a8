import Glibc

/// Writes a file as a whole: whoever reads it, or whatever fails, finds the old file or the new one, and no half of
/// either.
///
/// The new file is written beside the old one, and takes its place, mode and owner. It has no name while it is written,
/// so that no half of it is left if the process is killed. A symbolic link stays: what it leads to is replaced.
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
    ) throws(Failure) { try write(Array(text.utf8), to: path, mode: mode, isNew: isNew) }

    /// The same for a text that need not be UTF-8.
    package static func write(
        _ bytes: [UInt8], to path: String, mode: UInt32 = 0o600, isNew: Bool = false
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
        var draft = try Draft(beside: target)
        try keep(exists ? old : nil, mode, draft.file)
        try write(bytes, draft.file)
        guard fsync(draft.file) == 0 else { throw Failure(errno) }
        try draft.takePlace(of: target, isNew: isNew)
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

    fileprivate static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Gives the draft the owner and the mode of the file that it replaces.
    private static func keep(_ old: stat?, _ mode: UInt32, _ file: CInt) throws(Failure) {
        if let old, old.st_uid != geteuid() || old.st_gid != getegid(), fchown(file, old.st_uid, old.st_gid) != 0 {
            throw Failure("it belongs to another user or group, and a new file would not")
        }
        guard fchmod(file, old.map { $0.st_mode & 0o7777 } ?? mode) == 0 else { throw Failure(errno) }
    }

    private static func write(_ bytes: [UInt8], _ file: CInt) throws(Failure) {
        var bytes = bytes[...]
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

/// A file that is written, and removed unless it takes the place of another.
private struct Draft: ~Copyable {
    let file: CInt
    /// `nil` while it has none.
    private var name: String?

    init(beside target: String) throws(WholeFile.Failure) {
        let folder = WholeFile.folder(of: target)
        // `O_TMPFILE` of open(2), which glibc has for _GNU_SOURCE alone.
        let unnamed = open(folder, O_DIRECTORY | 0o20_000_000 | O_WRONLY | O_CLOEXEC, 0o600)
        if unnamed >= 0, access(Self.link(to: unnamed), F_OK) == 0 {
            file = unnamed
            return
        }
        if unnamed >= 0 { close(unnamed) }
        // Not every file system has files without a name, and without /proc there is no way to give one.
        var template = Array((target + ".XXXXXX").utf8CString)
        file = mkstemp(&template)
        guard file >= 0 else {
            let failure = WholeFile.Failure(errno)
            guard [EACCES, EPERM, EROFS].contains(errno) else { throw failure }
            throw WholeFile.Failure(
                "a whole new file is written beside it, which the folder \(folder) does not allow: \(failure)")
        }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        name = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit {
        close(file)
        if let name { unlink(name) }
    }

    private static func link(to file: CInt) -> String { "/proc/self/fd/\(file)" }

    /// - Parameter isNew: whether there must be no file yet.
    mutating func takePlace(of target: String, isNew: Bool) throws(WholeFile.Failure) {
        if name == nil {
            if linkat(AT_FDCWD, Self.link(to: file), AT_FDCWD, target, AT_SYMLINK_FOLLOW) == 0 { return }
            guard errno == EEXIST, !isNew else { throw WholeFile.Failure(errno) }
            // Only a file with a name can replace another one.
            let name = "\(target).\(String(UInt64.random(in: 0 ... .max), radix: 36))"
            guard linkat(AT_FDCWD, Self.link(to: file), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 else {
                throw WholeFile.Failure(errno)
            }
            self.name = name
        }
        guard let name, rename(name, target) == 0 else { throw WholeFile.Failure(errno) }
        self.name = nil
    }
}

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
            return target(ofLink: part).map { BrokenLink(path: part, target: $0) }
        }
        return nil
    }

    /// Where a symbolic link leads to, as it has it; `nil` if it cannot be read.
    package static func target(ofLink path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
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

/// What is in a folder.
package enum Folder {
    /// The names in a folder, `.` and `..` among them, in no particular order.
    ///
    /// - Parameters:
    ///   - path: of the folder.
    ///   - maximum: names that are read; further ones are left out.
    ///   - followsLink: whether the path may be a symbolic link.
    /// - Returns: `nil` if it cannot be read; `errno` says why.
    package static func names(in path: String, upTo maximum: Int = .max, followsLink: Bool = true) -> [String]? {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followsLink ? 0 : O_NOFOLLOW))
        guard descriptor >= 0 else { return nil }
        guard let folder = fdopendir(descriptor) else {
            close(descriptor)
            return nil
        }
        defer { closedir(folder) }
        var names: [String] = []
        while names.count < maximum, let entry = readdir(folder) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) {
                    String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
                })
        }
        return names
    }
}

/// A file that a configuration names.
package enum NamedFile {
    /// What is wrong with a file that is to be read; `nil` if it can be read.
    package static func mistake(at path: String) -> String? {
        guard access(path, R_OK) != 0 else { return nil }
        let error = errno
        let advice = error == ENOENT ? hidingAdvice(for: path) : ""
        return "the file \(path) cannot be read: \(String(cString: strerror(error)))\(advice)"
    }

    /// What to add where it is said that a file is not there. The units of the bridges hide homes and temporary files
    /// from them, except for the folder of the configuration: `ProtectHome=` and `PrivateTmp=`, systemd.exec(5).
    ///
    /// - Parameters:
    ///   - path: of the file, from the root.
    ///   - environment: the value of a variable; by default of this process.
    /// - Returns: nothing where no unit hides the file.
    package static func hidingAdvice(
        for path: String, environment: @escaping (String) -> String? = BaseDirectories.environment
    ) -> String {
        let directories = BaseDirectories(environment: environment)
        let hidden = ["/home", "/root", "/tmp", "/var/tmp", directories.home]
        // The service manager gives it to whatever it starts.
        guard environment("INVOCATION_ID") != nil, !isBelow(directories.configuration, path),
            hidden.contains(where: { isBelow($0, path) })
        else { return "" }
        return
            "; if it is there, its unit hides it from this program: put it beside the "
            + "configuration, in ~/.config/notifyd"
    }

    private static func isBelow(_ folder: String, _ path: String) -> Bool {
        path.utf8.starts(with: "\(folder)/".utf8)
    }
}

/// The name of this machine.
package enum HostName {
    /// As gethostname(2) tells it; empty if it does not.
    package static var current: String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let isKnown = bytes.withUnsafeMutableBytes { room in
            gethostname(room.baseAddress!.assumingMemoryBound(to: CChar.self), room.count - 1) == 0
        }
        return isKnown ? String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) : ""
    }

    /// Without the domain, as people call this device in a link; `device` if that is empty or longer than 64 bytes.
    package static var short: String {
        let name = current.prefix { $0 != "." }
        return 1...64 ~= name.utf8.count && !name.contains("\u{FFFD}") ? String(name) : "device"
    }
}
