import Glibc

/// Finds and reads the configuration files; the XDG Base Directory Specification says where they are.
enum ConfigurationFiles {
    /// Loads the administrator's files and then the user's, or only the file that is named.
    ///
    /// - Parameter file: a file that stands in for all others.
    /// - Throws: `ConfigurationError` for the first thing that is wrong.
    static func load(only file: String? = nil) throws(ConfigurationError) -> Configuration {
        var reader = try ConfigurationReader()
        if let file {
            guard let text = try read(file) else {
                throw ConfigurationError(file: file, line: 0, column: 0, reason: "there is no such file")
            }
            try reader.add(file: file, text: text)
        } else {
            for directory in directories() {
                for path in ["\(directory)/config.toml"] + dropIns(in: "\(directory)/config.d") {
                    if let text = try read(path) { try reader.add(file: path, text: text) }
                }
            }
        }
        return try reader.finish()
    }

    private static func directories() -> [String] {
        var directories = ["/etc/xdg/notifyd"]
        if let home = environment("XDG_CONFIG_HOME") {
            directories.append("\(home)/notifyd")
        } else if let home = environment("HOME") {
            directories.append("\(home)/.config/notifyd")
        }
        return directories
    }

    /// Drop-ins in the order of their names, as systemd reads its own.
    private static func dropIns(in directory: String) -> [String] {
        guard let handle = opendir(directory) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
            }
            if name.hasSuffix(".toml"), !name.hasPrefix(".") { names.append("\(directory)/\(name)") }
        }
        return names.sorted()
    }

    private static let maximumBytes = 1 << 20

    /// The text of a file, or `nil` where there is none.
    private static func read(_ path: String) throws(ConfigurationError) -> String? {
        guard let file = fopen(path, "re") else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw unreadable(path)
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { throw unreadable(path) }
        guard count <= maximumBytes else {
            throw ConfigurationError(
                file: path, line: 0, column: 0, reason: "the file is larger than \(maximumBytes) bytes")
        }
        guard let text = String(validating: bytes[..<count], as: UTF8.self) else {
            throw ConfigurationError(file: path, line: 0, column: 0, reason: "the file is not UTF-8 text")
        }
        return text
    }

    private static func unreadable(_ path: String) -> ConfigurationError {
        let reason = errno == EISDIR ? "this is a folder, and no file" : String(cString: strerror(errno))
        return ConfigurationError(file: path, line: 0, column: 0, reason: "it cannot be read: \(reason)")
    }

    private static func environment(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }
}
