import ArgumentParser
package import Logging

/// The levels of swift-log, by the names the configuration uses too.
package enum LogLevel: String, CaseIterable, ExpressibleByArgument {
    case trace, debug, info, notice, warning, error, critical

    package var level: Logger.Level? { Logger.Level(rawValue: rawValue) }
}
