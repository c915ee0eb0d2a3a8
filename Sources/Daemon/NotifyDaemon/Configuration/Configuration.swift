import Glibc
import Logging
import NotifyText
package import Routing
import TOMLTables

/// The settings of the daemon: the built-in routes, and the files of the administrator and the user.
package struct Configuration: Sendable {
    package var routes: RouteTable
    var banners: BannerSettings
    var screens: ScreenSettings
    var policy: Policy
    /// When no banners appear.
    var schedules: [Schedule] = []
    /// The shortest window of an event that is announced again after a restart.
    var recoveryWindow: Duration
    /// How long decided events stay in the journal.
    var history: Retention
    var logLevel: Logger.Level
    /// The files that were read; later ones override earlier ones.
    var files: [String]
    /// The drop-ins of packages that were not read, each with the file of the same name that replaces it.
    var replacedFiles: [ConfigurationFiles.Replacement] = []
    /// The mistakes in drop-ins of packages, which were left out.
    var leftOut: [ConfigurationError.Mistake] = []

    /// The window of a route that does not set its own.
    var defaultWindow: Duration { routes.fallback.window }
}

/// How long decided events stay in the journal.
struct Retention: Equatable, Sendable {
    /// The greatest age that can be set, in days.
    static let maximumDays = 3650
    /// The numbers of events that can be set.
    static let eventRange = 1000...10_000_000

    /// The age at which they are deleted.
    var age: Duration = .seconds(30 * 24 * 3600)
    /// The number of events beyond which the oldest are deleted.
    var events = 1_000_000
}

/// The default routes, in the syntax of a configuration file. Files of the administrator and the user change them or
/// add others.
enum BuiltInRoutes {
    static let file = "built-in routes"

    static let text = """
        # A post has news: one banner a post, however many comments.
        [[route]]
        topic = "/post/{id}"
        title = "{{#title}}{{title}}{{/title}}{{^title}}New activity on post {{id}}{{/title}}"
        body = "{{body}}"

        # An invitation to run together; nobody wants to hear of it after ten minutes.
        [[route]]
        topic = "/run/{session}/invite"
        title = "{{#title}}{{title}}{{/title}}{{^title}}{{from}} invites you to a run{{/title}}"
        require = { from = "string" }
        ttl = "10m"
        actions = [ { key = "accept", label = "Join" }, { key = "decline", label = "Decline" } ]

        # Your mate finished, perhaps with the distance in metres.
        [[route]]
        topic = "/run/{session}/mate/{mate}/finished"
        title = "{{#title}}{{title}}{{/title}}{{^title}}{{mate}} finished{{/title}}"
        body = "{{#body}}{{body}}{{/body}}{{^body}}{{#distance}}{{distance}} m{{/distance}}{{/body}}"

        # How far a mate has come: the current value, never a banner.
        [[route]]
        topic = "/run/{session}/mate/{mate}"
        banner = false
        retain = true

        # The run was called off.
        [[route]]
        topic = "/run/{session}/cancelled"
        title = "{{#title}}{{title}}{{/title}}{{^title}}The run was called off{{/title}}"

        # What a schedule with a digest held back; notifyd publishes it when the schedule ends. With a \
        terminal in [banner] it has
        # the button "Open inbox".
        [[route]]
        topic = "/notifyd/digest"

        # What screens of routes with "rescue" claimed while the user was away; notifyd publishes \
        it when the user is back.
        [[route]]
        topic = "/notifyd/away"
        """
}

/// The routes in force, for programs that do not read TOML: one line each, tab-separated `key=value`. Topics hold
/// neither tabs nor line ends. The default route has no `topic`.
///
/// - Returns: the exit code, and the text for standard output or, where the configuration is bad, standard error.
public func listRoutes(_ file: String?) -> (code: CInt, text: String) {
    do throws(ConfigurationError) {
        let routes = try ConfigurationFiles.load(only: file).routes
        return (ExitStatus.success, (routes.routes + [routes.fallback]).map(\.listing).joined(separator: "\n"))
    } catch {
        return (ExitStatus.badConfiguration, error.description)
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
