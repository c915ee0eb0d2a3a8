import Glibc
import NotifyClient

/// What a picture is, by its first bytes.
enum PictureKind: String {
    case png, jpeg, gif, webp

    init?(_ bytes: [UInt8]) {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: "GIF8".utf8) {
            self = .gif
        } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
            self = .webp
        } else {
            return nil
        }
    }
}

/// The pictures of the last banners, in the user's run-time folder, which only the user can read.
final class PictureFolder: Sendable {
    static let maximumFiles = 32

    private let path: String
    /// The oldest first.
    private let files: Locked<[String]>

    /// - Returns: `nil` if there is no such folder.
    init?(_ runtime: String? = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }) {
        guard let runtime, runtime.hasPrefix("/") else { return nil }
        path = runtime + "/notifyd-ntfy"
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { return nil }
        // What the run before has left.
        var old: [String] = []
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                if !name.hasPrefix(".") { old.append(path + "/" + name) }
            }
            closedir(folder)
        }
        files = Locked(old)
        limit()
    }

    /// Keeps a picture.
    ///
    /// - Returns: its path; `nil` if it cannot be written.
    func keep(_ bytes: [UInt8]) -> String? {
        guard let kind = PictureKind(bytes) else { return nil }
        let file = "\(path)/\(UInt64.random(in: 0 ... .max)).\(kind.rawValue)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        files.withLock { $0.append(file) }
        guard write(descriptor, bytes, bytes.count) == bytes.count else { return nil }
        limit()
        return file
    }

    private func limit() {
        files.withLock { files in
            while files.count > Self.maximumFiles { unlink(files.removeFirst()) }
        }
    }
}
