import Glibc

/// Where the programs of buttons are looked for: in the folders of `PATH`, and then in the one of notifyd, where an
/// installation below a home directory has notifyctl.
enum ProgramPath {
    /// As execvp(3) without `PATH`.
    private static let standard = "/usr/local/bin:/usr/bin:/bin"

    /// The folder of this program; `nil` if it is not known.
    static let folder: String? = {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        let program = String(cString: path)
        return program.lastIndex(of: "/").map { String(program[..<$0]) }
    }()

    /// Appends the folder of this program to `PATH`. Call it before another thread is started.
    static func extend() {
        setenv("PATH", folders(of: getenv("PATH").map { String(cString: $0) }).joined(separator: ":"), 1)
    }

    /// - Parameter path: the value of `PATH`.
    /// - Returns: its absolute folders as a unit's `ExecSearchPath=` takes them, and that of this program.
    static func folders(of path: String?, beside own: String? = folder) -> [String] {
        let folders = (path ?? standard).split(separator: ":").filter { $0.hasPrefix("/") }.compactMap { folder in
            let parts = folder.split(separator: "/").filter { $0 != "." }
            return parts.contains("..") ? nil : "/" + parts.joined(separator: "/")
        }
        return folders + [own].compactMap { $0 }.filter { !folders.contains($0) }
    }
}
