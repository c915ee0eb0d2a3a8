import Logging
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
