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
