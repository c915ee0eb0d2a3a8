import Glibc
import Journal
import NotifyText

/// Finds and reads the configuration files, by the XDG Base Directory Specification.
enum ConfigurationFiles {
    /// Loads the drop-ins of packages, then the administrator's files and then the user's; or one file.
    ///
    /// A drop-in of a package with a mistake is left out: the user may not know the package, and cannot correct it.
    ///
    /// - Parameter file: a file to read instead of all others.
    /// - Throws: `ConfigurationError` with all mistakes of other files.
    static func load(only file: String? = nil) throws(ConfigurationError) -> Configuration {
        if let file {
            var reader = ConfigurationReader()
            guard let text = try read(file) else {
                throw brokenLink(above: file)
                    ?? ConfigurationError(file: file, line: 0, column: 0, reason: "there is no such file")
            }
            reader.add(file: file, text: text)
            return try reader.finish()
        }
        return try load(find())
    }

    static func load(_ found: Found) throws(ConfigurationError) -> Configuration {
        var files = found.files
        var leftOut: [ConfigurationError.Mistake] = []
        while true {
            do throws(ConfigurationError) {
                var configuration = try load(files, upperDropIns: found.upperDropIns)
                configuration.replacedFiles = found.replaced
                configuration.leftOut = leftOut
                return configuration
            } catch {
                let mistakes = error.mistakes.filter { mistake in
                    files.contains { $0.origin == .package && PlainText.line($0.path) == mistake.file }
                }
                guard !mistakes.isEmpty else { throw error }
                files.removeAll { file in
                    file.origin == .package && mistakes.contains { $0.file == PlainText.line(file.path) }
                }
                leftOut += mistakes
            }
        }
    }

    private static func load(
        _ files: [Found.File], upperDropIns: [String]
    ) throws(ConfigurationError) -> Configuration {
        var reader = ConfigurationReader()
        for (path, origin) in files {
            do throws(ConfigurationError) {
                if let text = try read(path) {
                    reader.add(file: path, text: text, of: origin)
                } else if path.unicodeScalars.contains("\u{FFFD}") {
                    // The repaired name differs from the real one, so the file cannot be opened.
                    throw ConfigurationError(
                        file: path, line: 0, column: 0, reason: "the name of this file is not UTF-8; rename it")
                }
            } catch {
                for mistake in error.mistakes { reader.mistakes.note(mistake) }
            }
        }
        // Without a word, the events would come under other routes, and under no policy.
        var broken: Set<ByteString> = []
        for path in files.filter({ $0.origin == .user }).map(\.path) + upperDropIns {
            guard let error = brokenLink(above: path), broken.insert(error.mistakes[0].file.bytes).inserted else {
                continue
            }
            reader.mistakes.note(error.mistakes[0])
        }
        return try reader.finish()
    }

    /// A drop-in of a package that is not read, because a file of the same name replaces it.
    struct Replacement: Equatable, Sendable {
        let file: String
        let replacement: String
    }

    /// What is read: later files override earlier ones.
    struct Found {
        typealias File = (path: String, origin: ConfigurationReader.Origin)

        var files: [File] = []
        var replaced: [Replacement] = []
        /// The directories of drop-ins of the administrator and the user.
        var upperDropIns: [String] = []
    }

    /// Finds the files. Each but the drop-ins may be missing.
    ///
    /// Packages have drop-ins only, in the order of their names whatever their directories. A drop-in of the same name in an
    /// earlier data directory, in `/etc/xdg/notifyd/config.d` or in the user's `config.d` replaces one; a link to `/dev/null`
    /// there masks it. The user's files do not replace the administrator's, whose policy comes first.
    static func find(_ directories: BaseDirectories = BaseDirectories(), administrator: String = "/etc/xdg/notifyd")
        -> Found
    {
        let upper = [administrator, directories.configuration].map {
            (directory: $0, dropIns: dropIns(in: "\($0)/config.d"))
        }
        var found = Found()
        found.upperDropIns = upper.map { "\($0.directory)/config.d" }
        var winners: [ByteString: String] = [:]
        for path in upper.reversed().flatMap(\.dropIns) where winners[name(path)] == nil { winners[name(path)] = path }
        var packaged: [String] = []
        for path in directories.data.flatMap({ dropIns(in: "\($0)/config.d") }) {
            if let winner = winners[name(path)] {
                found.replaced.append(Replacement(file: path, replacement: winner))
            } else {
                winners[name(path)] = path
                packaged.append(path)
            }
        }
        found.files = packaged.sorted { name($0) < name($1) }.map { ($0, .package) }
        for (directory, dropIns) in upper {
            found.files += (["\(directory)/config.toml"] + dropIns).map { ($0, .user) }
        }
        return found
    }

    /// The name of a file without its directory.
    private static func name(_ path: String) -> ByteString {
        String(path[path.utf8.index(after: path.utf8.lastIndex(of: UInt8(ascii: "/"))!)...]).bytes
    }

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

    private static func brokenLink(above path: String) -> ConfigurationError? {
        FileKind.brokenLink(above: path).map { link in
            ConfigurationError(
                file: link.path, line: 0, column: 0,
                reason: "it cannot be read: it is \(link); make what it leads to, or remove the link")
        }
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
            files: (file.map { [$0] } ?? find().files.map(\.path)).map { path in
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
