import Glibc

/// Where a user's files are, by the
/// [XDG Base Directory Specification](https://specifications.freedesktop.org/basedir-spec/latest/):
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

    /// The address of the session bus: the one that the environment names, else that of the user's own socket in
    /// `$XDG_RUNTIME_DIR`, else in `/run/user/UID`. cron(8), for example, sets neither variable, and su(1) leaves the
    /// runtime directory of somebody else.
    ///
    /// - Returns: `nil` if no bus is known: ``noSessionBus`` says why.
    package var sessionBusAddress: String? {
        if let address = environment(Self.busVariable), !address.isEmpty { return address }
        return buses.first { Self.flaw(ofBus: $0) == nil }.map { "unix:path=" + Self.escaped($0) }
    }

    /// Why no session bus is known, and how to name one.
    package var noSessionBus: String {
        "\(Self.busVariable) is not set, and " + buses.compactMap { Self.flaw(ofBus: $0) }.joined(separator: ", and ")
            + "; set \(Self.busVariable) to the address of the bus"
    }

    private static let busVariable = "DBUS_SESSION_BUS_ADDRESS"

    /// The sockets to look for, the most important one first.
    private var buses: [String] {
        let named = absolute("XDG_RUNTIME_DIR").map { "\($0)/bus" }
        return [named, "\(runtime)/bus"].compactMap(\.self).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Why a path is not the socket of a user's bus: whoever else owns it could read and answer everything.
    package static func flaw(ofBus path: String, of user: UInt32 = getuid()) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return errno == ENOENT || errno == ENOTDIR
                ? "there is no \(path)" : "\(path) cannot be used: \(String(cString: strerror(errno)))"
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else { return "\(path) is not a socket" }
        return status.st_uid == user ? nil : "\(path) belongs to user \(status.st_uid), and not to user \(user)"
    }

    /// A value as it stands in a [D-Bus address](https://dbus.freedesktop.org/doc/dbus-specification.html#addresses).
    private static func escaped(_ path: String) -> String {
        path.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            guard byte < 0x80, character.isLetter || character.isNumber || "-_/.*".contains(character) else {
                return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
            return String(character)
        }.joined()
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
