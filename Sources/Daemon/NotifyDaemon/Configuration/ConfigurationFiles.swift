import Glibc
import Journal
import NotifyText

/// Finds and reads the configuration files, by the XDG Base Directory Specification.
enum ConfigurationFiles {
    /// Loads the administrator's files and then the user's, or one file.
    ///
    /// - Parameter file: a file to read instead of all others.
    /// - Throws: `ConfigurationError` with all mistakes.
    static func load(only file: String? = nil) throws(ConfigurationError) -> Configuration {
        var reader = ConfigurationReader()
        if let file {
            guard let text = try read(file) else {
                throw ConfigurationError(file: file, line: 0, column: 0, reason: "there is no such file")
            }
            reader.add(file: file, text: text)
        } else {
            for path in paths() {
                do throws(ConfigurationError) {
                    if let text = try read(path) {
                        reader.add(file: path, text: text)
                    } else if path.unicodeScalars.contains("\u{FFFD}") {
                        // The repaired name differs from the real one, so the file cannot be opened.
                        throw ConfigurationError(
                            file: path, line: 0, column: 0, reason: "the name of this file is not UTF-8; rename it")
                    }
                } catch {
                    for mistake in error.mistakes { reader.mistakes.note(mistake) }
                }
            }
        }
        return try reader.finish()
    }

    /// Possible paths; later files override earlier ones.
    static func paths() -> [String] {
        directories().flatMap { ["\($0)/config.toml"] + dropIns(in: "\($0)/config.d") }
    }

    private static func directories() -> [String] { ["/etc/xdg/notifyd", BaseDirectories().configuration] }

    /// Drop-ins in the order of their names, as with systemd.
    private static func dropIns(in directory: String) -> [String] {
        guard let handle = opendir(directory) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        // One more than the limit, which the reader then refuses.
        while names.count <= ConfigurationReader.maximumFiles, let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
            }
            if name.hasSuffix(".toml"), !name.hasPrefix(".") { names.append("\(directory)/\(name)") }
        }
        return names.sorted { $0.bytes < $1.bytes }
    }

    private static let maximumBytes = 1 << 20

    /// The text of a file, or `nil` if there is none.
    private static func read(_ path: String) throws(ConfigurationError) -> String? {
        let bytes: [UInt8]
        do throws(FileKind.Failure) {
            guard let content = try FileKind.read(path, atMost: maximumBytes + 1) else { return nil }
            bytes = content
        } catch {
            throw ConfigurationError(file: path, line: 0, column: 0, reason: "it cannot be read: \(error)")
        }
        guard bytes.count <= maximumBytes else {
            throw ConfigurationError(
                file: path, line: 0, column: 0, reason: "the file is larger than \(maximumBytes) bytes")
        }
        if let fault = Encoding.firstFault(in: bytes) {
            let lines = bytes[..<fault].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            throw ConfigurationError(
                file: path, line: lines.count,
                column: String(decoding: lines.last!, as: UTF8.self).unicodeScalars.count + 1,
                reason: "this byte (0x\(String(bytes[fault], radix: 16))) is not UTF-8; a configuration is UTF-8 text")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ConfigurationFiles {
    /// Changes when a file is written, added or removed.
    struct Fingerprint: Equatable {
        fileprivate struct File: Equatable {
            var path: String
            /// Device, inode, size, and the time of the last change.
            var facts: [UInt64]
        }

        fileprivate var files: [File]
    }

    static func fingerprint(only file: String? = nil) -> Fingerprint {
        Fingerprint(
            files: (file.map { [$0] } ?? paths()).map { path in
                var status = stat()
                guard stat(path, &status) == 0 else { return Fingerprint.File(path: path, facts: []) }
                return Fingerprint.File(
                    path: path,
                    facts: [
                        UInt64(status.st_dev), UInt64(status.st_ino), UInt64(bitPattern: Int64(status.st_size)),
                        UInt64(bitPattern: Int64(status.st_ctim.tv_sec)),
                        UInt64(bitPattern: Int64(status.st_ctim.tv_nsec)),
                    ])
            })
    }
}
