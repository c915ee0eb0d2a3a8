import Logging
package import Routing

/// What the daemon is told to do: the built-in routes, changed and added to by the files of the administrator and the user.
package struct Configuration: Sendable {
    package var routes: RouteTable
    var banners: BannerSettings
    var screens: ScreenSettings
    var policy: Policy
    /// The shortest window of an event that is announced again after a restart.
    var recoveryWindow: Duration
    var logLevel: Logger.Level
    /// The files that were read, in the order in which each overrides the one before.
    var files: [String]

    /// The window of a route that does not set its own.
    var defaultWindow: Duration { routes.fallback.window }
}

/// Why a configuration cannot be used: where, and what would be right.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    package let file: String
    /// Counted from 1; 0 where the error is not at one place.
    package let line: Int
    package let column: Int
    package let reason: String

    /// What fits into a line.
    var summary: String { description }

    package var description: String {
        line > 0 ? "\(file):\(line):\(column): \(reason)" : "\(file): \(reason)"
    }
}
