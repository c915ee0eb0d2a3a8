import Glibc
import NotifyText
import TOMLTables
import UserFiles

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
            guard let text = try ConfigurationText.read(file) else {
                throw ConfigurationText.brokenLink(above: file)
                    ?? ConfigurationError(file: file, line: 0, column: 0, reason: "there is no such file")
            }
            reader.add(file: file, text: text)
            return try reader.finish()
        }
        return try load(find())
    }

    static func load(_ found: Found) throws(ConfigurationError) -> Configuration {
        var reader = ConfigurationReader()
        let own = found.files.filter { $0.origin == .user }.map(\.path)
        for path in own {
            do throws(ConfigurationError) {
                if let text = try readNamed(path) { reader.add(file: path, text: text) }
            } catch {
                for mistake in error.mistakes { reader.mistakes.note(mistake) }
            }
        }
        // Without a word, the events would come under other routes, and under no policy.
        var broken: Set<ByteString> = []
        for path in own + found.upperDropIns {
            guard let error = ConfigurationText.brokenLink(above: path),
                broken.insert(error.mistakes[0].file.bytes).inserted
            else { continue }
            reader.mistakes.note(error.mistakes[0])
        }
        reader.leaveOut(found.leftOut)
        addPackages(found.files.filter { $0.origin == .package }.map(\.path), to: &reader)
        var configuration = try reader.finish()
        configuration.replacedFiles = found.replaced
        return configuration
    }

    /// Adds as many files of packages as there may be.
    private static func addPackages(_ paths: [String], to reader: inout ConfigurationReader) {
        let places = reader.filesLeft
        for path in paths.prefix(places) {
            do throws(ConfigurationError) {
                if let text = try readNamed(path) { reader.add(file: path, text: text, of: .package) }
            } catch {
                reader.leaveOut(error.mistakes)
            }
        }
        let maximum = ConfigurationReader.maximumFiles
        let rest = paths.dropFirst(places)
        for (index, path) in rest.prefix(maximum).enumerated() {
            let isLast = index + 1 == maximum && rest.count > maximum
            let more = isLast ? "; \(rest.count - maximum) more are too many" : ""
            reader.leaveOut([
                ConfigurationError.Mistake(
                    file: path, line: 0, column: 0,
                    reason: "this file is one too many; there are at most \(maximum), with those of the administrator "
                        + "and the user" + more)
            ])
        }
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
        /// Directories of packages that have too many entries.
        var leftOut: [ConfigurationError.Mistake] = []
    }

    /// Finds the files. Each but the drop-ins may be missing.
    ///
    /// Packages have drop-ins only, in the order of their names whatever their directories. A drop-in of the same name
    /// in an earlier data directory, in `/etc/xdg/notifyd/config.d` or in the user's `config.d` replaces one; a link to
    /// `/dev/null` there masks it. The user's files do not replace the administrator's, whose policy comes first.
    static func find(_ directories: BaseDirectories = BaseDirectories(), administrator: String = "/etc/xdg/notifyd")
        -> Found
    {
        let upper = [administrator, directories.configuration].map { directory in
            let all = dropIns(in: "\(directory)/config.d", among: Folder.names(in: "\(directory)/config.d"))
            // One more than the limit, which the reader then refuses.
            return (directory: directory, dropIns: Array(all.prefix(ConfigurationReader.maximumFiles + 1)))
        }
        var found = Found()
        found.upperDropIns = upper.map { "\($0.directory)/config.d" }
        var winners: [ByteString: String] = [:]
        for path in upper.reversed().flatMap(\.dropIns) where winners[name(path)] == nil { winners[name(path)] = path }
        var packaged: [String] = []
        for path in directories.data.flatMap({ packagedDropIns(in: "\($0)/config.d", &found) }) {
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

    /// Entries of a directory of packages, of any name.
    static let maximumEntries = 10_000

    /// A directory with too many entries is left out as a whole: the order in which they are found is not that of their
    /// names.
    private static func packagedDropIns(in directory: String, _ found: inout Found) -> [String] {
        // With `.` and `..`, and one more than the limit.
        let names = Folder.names(in: directory, upTo: maximumEntries + 3)
        if names?.count ?? 0 < maximumEntries + 3 { return dropIns(in: directory, among: names) }
        let reason = "this directory has more than \(maximumEntries) entries, so none of its files is read"
        found.leftOut.append(ConfigurationError.Mistake(file: directory, line: 0, column: 0, reason: reason))
        return []
    }

    /// Drop-ins in the order of their names, as with systemd.
    private static func dropIns(in directory: String, among names: [String]?) -> [String] {
        (names ?? []).filter { $0.hasSuffix(".toml") && !$0.hasPrefix(".") }.map { "\(directory)/\($0)" }
            .sorted { $0.bytes < $1.bytes }
    }

    /// The text of a drop-in, or `nil` if there is none.
    private static func readNamed(_ path: String) throws(ConfigurationError) -> String? {
        if let text = try ConfigurationText.read(path) { return text }
        // The repaired name differs from the real one, so the file cannot be opened.
        guard path.unicodeScalars.contains("\u{FFFD}") else { return nil }
        throw ConfigurationError(
            file: path, line: 0, column: 0, reason: "the name of this file is not UTF-8; rename it")
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
