import Glibc

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
            "; if it is there, its unit hides it from this program: put it beside the configuration, in ~/.config/notifyd"
    }

    private static func isBelow(_ folder: String, _ path: String) -> Bool {
        path.utf8.starts(with: "\(folder)/".utf8)
    }
}
