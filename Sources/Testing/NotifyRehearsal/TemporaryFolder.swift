import Glibc
package import NotifyClient
import UserFiles

/// A private folder that is removed with this object. It is in memory if possible, because a busy disk would distort
/// measured times.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// - Parameter onDisk: whether it must be on a disk, for tests of disk faults.
    package init(onDisk: Bool = false) throws(RehearsalError) {
        let inMemory = "/dev/shm"
        let usual = access(inMemory, W_OK) == 0 ? inMemory : "/tmp"
        let parent = onDisk ? "/var/tmp" : getenv("TMPDIR").map { String(cString: $0) } ?? usual
        var template = Array((parent + "/notifyd-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw RehearsalError(
                "No temporary folder can be created in \(parent): \(String(cString: strerror(errno))).")
        }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit { remove() }

    /// Creates a folder in it, with its parents, and returns its path.
    @discardableResult
    package func folder(_ name: String) throws(RehearsalError) -> String {
        var current = path
        for part in name.split(separator: "/") {
            current += "/" + part
            guard mkdir(current, 0o700) == 0 || errno == EEXIST else {
                throw RehearsalError("The folder \(current) cannot be created: \(String(cString: strerror(errno))).")
            }
        }
        return current
    }

    @discardableResult
    package func write(_ text: String, to name: String) throws(RehearsalError) -> String {
        if let slash = name.lastIndex(of: "/") { try folder(String(name[..<slash])) }
        let file = path + "/" + name
        let stream = fopen(file, "we")
        defer { if let stream { fclose(stream) } }
        guard let stream, fwrite(text, 1, text.utf8.count, stream) == text.utf8.count, fflush(stream) == 0 else {
            throw RehearsalError("The file \(file) cannot be written: \(String(cString: strerror(errno))).")
        }
        return file
    }

    package func remove() { removeTree(path) }
}

/// Removes a file, or a folder with what is in it.
@discardableResult
package func removeTree(_ path: String) -> (path: String, error: CInt)? {
    // A link is removed, never followed.
    if unlink(path) == 0 { return nil }
    var failure: (path: String, error: CInt)?
    let error = errno
    if let names = Folder.names(in: path, followsLink: false) {
        for name in names where name != "." && name != ".." { failure = removeTree(path + "/" + name) ?? failure }
    } else {
        failure = (path, errno == ENOTDIR ? error : errno)
    }
    return rmdir(path) == 0 ? nil : failure ?? (path, errno)
}

/// Why a private bus, a daemon or a stand-in could not be set up, or did not do what was expected of it.
package typealias RehearsalError = ProcessError
