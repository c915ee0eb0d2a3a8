import Glibc
import UserFiles

/// The directory that the log is in. `DirectoryDisk` is the real one; tests make up others.
package protocol LogDisk: AnyObject {
    /// - Returns: `nil` if there is no file of that name; `.making` makes one.
    /// - Throws: `JournalError.obstacle` if the name leads to something else than a regular file.
    func open(_ name: String, _ purpose: LogFilePurpose) throws(JournalError) -> (any LogFile)?
    /// Removes a file. One that is open can still be read and written. Nothing happens if there is none.
    func remove(_ name: String) throws(JournalError)
    /// Returns when the names of all files are on the disk.
    func syncDirectory() throws(JournalError)
    /// Whether a name still leads to an open file.
    func isInPlace(_ file: any LogFile, as name: String) -> Bool
    /// A random number.
    func random() -> UInt32
    /// The size of a segment of the log: less on a small disk.
    var segmentBytes: Int { get }
    /// The bytes that are free on it; `nil` if unknown.
    var freeSpace: Int? { get }
}

extension LogDisk {
    /// Nobody else has a disk that is made up.
    package func isInPlace(_ file: any LogFile, as name: String) -> Bool { true }
    package var segmentBytes: Int { Journal.usualSegment }
    package var freeSpace: Int? { nil }
}

package enum LogFilePurpose {
    case reading
    case writing
    /// Makes an empty file; one that is there is emptied.
    case making
}

/// An open file.
package protocol LogFile: AnyObject {
    /// In bytes.
    func size() throws(JournalError) -> Int
    /// Fills a buffer from a place in the file.
    ///
    /// - Returns: how many bytes there were; fewer than the buffer has at the end of the file alone.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(JournalError) -> Int
    /// Writes all bytes, or throws: then any part of them may be written.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(JournalError)
    func truncate(to size: Int) throws(JournalError)
    /// Returns when all that was written is on the disk. After an error, nobody knows what is, whatever a second call
    /// says.
    func sync() throws(JournalError)
    func close()
}

/// A directory of the file system.
package final class DirectoryDisk: LogDisk {
    private let directory: String

    /// - Parameter directory: an existing one.
    package init(_ directory: String) {
        self.directory = directory
    }

    package func open(_ name: String, _ purpose: LogFilePurpose) throws(JournalError) -> (any LogFile)? {
        let path = "\(directory)/\(name)"
        let access =
            switch purpose {
            case .reading: O_RDONLY
            case .writing: O_RDWR
            case .making: O_RDWR | O_CREAT
            }
        // Opening a pipe would block without O_NONBLOCK. The file is emptied when it is known to be a regular one.
        let descriptor = Glibc.open(path, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            let error = errno
            if error == ENOENT, purpose != .making { return nil }
            throw JournalError.obstacle(at: path) ?? JournalError(errno: error)
        }
        let file = OpenFile(descriptor)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw JournalError(errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw JournalError.obstacle(at: path) ?? .inputOutput }
        if purpose != .reading, status.st_mode & 0o777 != 0o600, fchmod(descriptor, 0o600) != 0 {
            throw JournalError(errno: errno)
        }
        if purpose == .making, status.st_size > 0 { try file.truncate(to: 0) }
        return file
    }

    package func remove(_ name: String) throws(JournalError) {
        guard unlink("\(directory)/\(name)") != 0, errno != ENOENT else { return }
        throw JournalError(errno: errno)
    }

    package func syncDirectory() throws(JournalError) {
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw JournalError(errno: errno) }
        defer { Glibc.close(descriptor) }
        // Some file systems do not support fsync(2) of directories.
        guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else { throw JournalError(errno: errno) }
    }

    package func isInPlace(_ file: any LogFile, as name: String) -> Bool {
        guard let file = file as? OpenFile else { return false }
        return file.isNamed("\(directory)/\(name)")
    }

    package func random() -> UInt32 { .random(in: .min ... .max) }

    package var segmentBytes: Int {
        guard let space, let size = Self.bytes(UInt64(space.f_blocks), of: space) else { return Journal.usualSegment }
        return min(Journal.usualSegment, max(128 << 10, size / 16))
    }

    package var freeSpace: Int? { space.flatMap { Self.bytes(UInt64($0.f_bavail), of: $0) } }

    private var space: statvfs? {
        var space = statvfs()
        return statvfs(directory, &space) == 0 && space.f_blocks > 0 ? space : nil
    }

    private static func bytes(_ blocks: UInt64, of space: statvfs) -> Int? {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: UInt64(space.f_frsize))
        return overflow ? .max : Int(clamping: bytes)
    }
}

private final class OpenFile: LogFile {
    private var descriptor: CInt

    init(_ descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit { close() }

    func size() throws(JournalError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw JournalError(errno: errno) }
        return Int(status.st_size)
    }

    func isNamed(_ path: String) -> Bool {
        guard let named = FileIdentity(path) else { return false }
        return named == FileIdentity { fstat(descriptor, &$0) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(JournalError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
            if count == 0 { break }
            guard count > 0 || errno == EINTR else { throw JournalError(errno: errno) }
            done += max(0, count)
        }
        return done
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(JournalError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
            // A regular file takes at least one byte, or tells why not.
            guard count > 0 || count < 0 && errno == EINTR else {
                throw count == 0 ? .inputOutput : JournalError(errno: errno)
            }
            done += max(0, count)
        }
    }

    func truncate(to size: Int) throws(JournalError) {
        while ftruncate(descriptor, off_t(size)) != 0 {
            guard errno == EINTR else { throw JournalError(errno: errno) }
        }
    }

    func sync() throws(JournalError) {
        // An interrupted call may have lost an error already: it counts as one.
        guard fdatasync(descriptor) == 0 else { throw JournalError(errno: errno) }
    }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}

/// Which file it is, whatever its name.
struct FileIdentity: Equatable {
    private let device: UInt
    private let inode: UInt

    init?(_ path: String) { self.init { lstat(path, &$0) } }

    init?(_ find: (inout stat) -> CInt) {
        var status = stat()
        guard find(&status) == 0 else { return nil }
        (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
    }
}

extension JournalError {
    /// Why there cannot be a file of ours; `nil` if there is a regular one, or none. A link may lead to a file that is
    /// not ours.
    static func obstacle(at path: String) -> JournalError? {
        var status = stat()
        let isLink = lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
        guard let kind = FileKind.obstacle(at: path) ?? (isLink ? "a symbolic link" : nil) else { return nil }
        return .obstacle("\(path) is \(kind), not a regular file")
    }

    /// - Parameter number: an errno(3) of a call for a file.
    init(errno number: CInt) {
        self =
            switch number {
            case ENOSPC, EDQUOT: .diskFull
            case EFBIG: .fileTooLarge
            case EROFS, EACCES, EPERM: .readOnly
            case ENOENT, ENOTDIR: .gone
            case EMFILE, ENFILE, ENOMEM: .other("a file of the journal: \(String(cString: strerror(number)))")
            default: .inputOutput
            }
    }
}
