import Glibc
import Routing
import TOMLTables

/// The routes in force, for programs that do not read TOML: one line each, tab-separated `key=value`. Topics hold
/// neither tabs nor line ends. The default route has no `topic`.
///
/// - Returns: the exit code, and the text for standard output or, where the configuration is bad, standard error.
public func listRoutes(_ file: String?) -> (code: CInt, text: String) {
    do throws(ConfigurationError) {
        let routes = try ConfigurationFiles.load(only: file).routes
        return (ExitCode.success, (routes.routes + [routes.fallback]).map(\.listing).joined(separator: "\n"))
    } catch {
        return (ExitCode.badConfiguration, error.description)
    }
}

extension Route {
    /// Times in microseconds.
    fileprivate var listing: String {
        let settings = [
            "banner=\(banner)", "window=\(window.microseconds)", "max_window=\(maximumWindow.microseconds)",
            "wait=\(wait.rawValue)", "coalesce=\(coalescing.rawValue)", "break_through=\(breaksThrough)",
        ]
        return ((pattern.map { ["topic=\($0)"] } ?? []) + settings).joined(separator: "\t")
    }
}

extension RouteTable {
    /// The programs of buttons that cannot be found now, each with its button.
    var missingPrograms: [String] {
        routes.flatMap { route in
            route.appearance.actions.compactMap { action in
                guard let program = action.command.first, !Self.isThere(program) else { return nil }
                return PlainText.line("\(program), for the button \"\(action.label)\" of \(route.name)")
            }
        }
    }

    /// Whether execvp(3) would find a program.
    private static func isThere(_ program: String) -> Bool {
        guard !program.utf8.contains(UInt8(ascii: "/")) else { return access(program, X_OK) == 0 }
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }
}
