public import ArgumentParser
import Glibc
public import Logging
import NotifyDaemon

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// The daemon's command line. It is synchronous on purpose: the event loop owns the main thread.
@main
struct NotifydCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyd",
        abstract: "Routes push notifications over D-Bus: screens claim what they show, the rest becomes a banner.",
        discussion: "It needs no arguments. notifyctl(1) sends pushes, listens and claims.",
        version: notifydVersion)

    @Option(help: ArgumentHelp("The D-Bus address to use instead of the session bus.", valueName: "address"))
    var address: String?

    @Option(help: ArgumentHelp("The configuration file to read instead of all others.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp("How much to log: trace, debug, info, notice, warning, error, critical.", valueName: "level")
    )
    var logLevel: Logger.Level?

    @Flag(help: "Check the configuration, say what is wrong or in force, and exit.")
    var checkConfig = false

    func run() throws {
        if checkConfig {
            let (code, text) = checkConfiguration(config)
            let line = Array((text + "\n").utf8)
            _ = write(code == 0 ? STDOUT_FILENO : STDERR_FILENO, line, line.count)
            throw ArgumentParser.ExitCode(code)
        }
        let options = DaemonOptions(address: address, configuration: config, logLevel: logLevel)
        throw ArgumentParser.ExitCode(runNotifyDaemon(options))
    }
}
