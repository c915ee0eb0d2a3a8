import Glibc

/// Where a user's files are, by the [XDG Base Directory Specification](https://specifications.freedesktop.org/basedir-spec/latest/):
/// a variable that is empty or holds a relative path counts as not set.
package struct BaseDirectories {
    private let environment: (String) -> String?

    /// - Parameter environment: the value of a variable; by default of this process.
    package init(environment: @escaping (String) -> String? = BaseDirectories.environment) {
        self.environment = environment
    }

    /// The value of a variable of this process.
    package static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// For the journal.
    package var state: String { (absolute("XDG_STATE_HOME") ?? "\(home)/.local/state") + "/notifyd" }

    /// For the user's configuration.
    package var configuration: String { (absolute("XDG_CONFIG_HOME") ?? "\(home)/.config") + "/notifyd" }

    /// For what packages bring, the most important one first.
    package var data: [String] {
        let list = environment("XDG_DATA_DIRS").flatMap { $0.isEmpty ? nil : $0 } ?? "/usr/local/share:/usr/share"
        var known: Set<Substring> = []
        return list.split(separator: ":").compactMap { directory in
            let path = directory.hasSuffix("/") ? directory.dropLast() : directory
            return path.hasPrefix("/") && known.insert(path).inserted ? "\(path)/notifyd" : nil
        }
    }

    /// `nil` if no bus is known.
    package var sessionBusAddress: String? {
        if let address = environment("DBUS_SESSION_BUS_ADDRESS"), !address.isEmpty { return address }
        return absolute("XDG_RUNTIME_DIR").map { "unix:path=\($0)/bus" }
    }

    /// The user's home.
    package var home: String {
        if let home = absolute("HOME") { return home }
        return getpwuid(getuid())?.pointee.pw_dir.map { String(cString: $0) } ?? "/"
    }

    private func absolute(_ name: String) -> String? {
        environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// A path from the command line; a relative one is relative to the working directory.
    package static func absolute(path: String) -> String {
        guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
        defer { free(directory) }
        let parent = String(cString: directory)
        return (parent == "/" ? "" : parent) + "/" + path
    }
}
