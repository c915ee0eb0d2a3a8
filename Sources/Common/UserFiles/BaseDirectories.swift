import Glibc

/// Where a user's files are, by the [XDG Base Directory Specification](https://specifications.freedesktop.org/basedir-spec/latest/):
/// a variable that is empty or holds a relative path counts as not set.
package struct BaseDirectories {
    /// The folder that logind makes for each user who is logged in.
    package static let runtime = "/run/user/\(getuid())"

    private let environment: (String) -> String?
    private let runtime: String

    /// - Parameters:
    ///   - environment: the value of a variable; by default of this process.
    ///   - runtime: the user's runtime directory where the environment names none.
    package init(
        environment: @escaping (String) -> String? = BaseDirectories.environment,
        runtime: String = BaseDirectories.runtime
    ) {
        self.environment = environment
        self.runtime = runtime
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

    /// The address of the session bus. Programs started by cron(8), for example, have neither variable.
    ///
    /// - Returns: `nil` if no bus is known: ``noSessionBus`` says why.
    package var sessionBusAddress: String? {
        if let address = environment("DBUS_SESSION_BUS_ADDRESS"), !address.isEmpty { return address }
        if let folder = absolute("XDG_RUNTIME_DIR") { return "unix:path=\(folder)/bus" }
        return access("\(runtime)/bus", F_OK) == 0 ? "unix:path=\(runtime)/bus" : nil
    }

    /// Why no session bus is known, and how to name one.
    package static let noSessionBus =
        "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set, and there is no \(runtime)/bus; set "
        + "DBUS_SESSION_BUS_ADDRESS to the address of the bus, such as unix:path=/run/user/1000/bus"

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
