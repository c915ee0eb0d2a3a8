import Routing
import TOMLTables

/// The routes in force, for programs that do not read TOML: one line each, tab-separated `key=value`. Topics hold neither
/// tabs nor line ends. The default route has no `topic`.
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
