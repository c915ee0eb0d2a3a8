import Glibc

/// A file that the configuration of a service names and that the service does not see.
///
/// The units of the bridges hide homes and temporary files from them, except for the folder of the configuration: `ProtectHome=` and
/// `PrivateTmp=`, systemd.exec(5). Such a file is "not there" for the bridge alone.
public enum HiddenFile {
    /// What to add where it is said that a file is not there.
    ///
    /// - Parameter path: of the file, from the root.
    /// - Returns: nothing where no unit hides the file.
    public static func advice(for path: String) -> String {
        advice(
            for: path, home: getenv("HOME").map { String(cString: $0) },
            isService: getenv("INVOCATION_ID") != nil)
    }

    /// - Parameter isService: whether this process runs in a unit.
    package static func advice(for path: String, home: String?, isService: Bool) -> String {
        let folders = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"] + (home.map { [$0] } ?? [])
        let isHidden = folders.contains { path.utf8.starts(with: "\($0)/".utf8) }
        guard isService, isHidden else { return "" }
        return
            "; if it is there, its unit hides it from this program: put it beside the configuration, in ~/.config/notifyd"
    }
}
