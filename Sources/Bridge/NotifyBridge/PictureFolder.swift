import Glibc
import NotifyClient
import UserFiles

/// The pictures of the last banners, in the user's run-time folder, which only the user can read.
package final class PictureFolder: Sendable {
    private static let maximumFiles = 32

    private let path: String
    /// The oldest first.
    private let files: Locked<[String]>

    /// Why pictures cannot be kept.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// - Parameter name: of the folder.
    package init(
        _ name: String, in runtime: String? = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }
    ) throws(Failure) {
        guard let runtime, runtime.hasPrefix("/") else {
            throw Failure(description: "XDG_RUNTIME_DIR is not set, so there is no folder for them")
        }
        path = runtime + "/" + name
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw Failure(description: "the folder \(path) cannot be made: \(String(cString: strerror(errno)))")
        }
        guard access(path, R_OK | W_OK | X_OK) == 0 else {
            throw Failure(description: "the folder \(path) cannot be used: \(String(cString: strerror(errno)))")
        }
        // What the run before has left, and nothing that others have put there.
        guard let names = Folder.names(in: path, followsLink: false) else {
            throw Failure(description: "\(path) is not a folder: \(String(cString: strerror(errno)))")
        }
        let old = names.filter { name in name.firstIndex(of: ".").map { UInt64(name[..<$0]) != nil } ?? false }
        files = Locked(old.map { [path] in path + "/" + $0 })
        limit()
    }

    /// Keeps a picture.
    ///
    /// - Parameter kind: what its file ends in, such as `png`.
    /// - Returns: its path.
    package func keep(_ bytes: [UInt8], kind: String) throws(Failure) -> String {
        let file = "\(path)/\(UInt64.random(in: 0 ... .max)).\(kind)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Failure(description: "no file can be made in \(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        files.withLock { $0.append(file) }
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Failure(description: "a file in \(path) cannot be written; is there room?")
        }
        limit()
        return file
    }

    private func limit() {
        files.withLock { files in
            while files.count > Self.maximumFiles { unlink(files.removeFirst()) }
        }
    }
}
