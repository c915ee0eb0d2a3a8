import ArgumentParser
import Journal
import Logging
import NotifyDaemon
import StandardStreams

/// The daemon's command line. It is synchronous on purpose: the event loop owns the main thread.
@main
struct NotifydCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyd",
        abstract: "Routes push notifications over D-Bus: screens claim what they show, the rest becomes a banner.",
        discussion: """
            It needs no arguments. notifyctl(1) sends pushes, listens and claims.

            Examples:
              systemctl --user enable --now notifyd
              notifyd --check-config --config new.toml
              notifyd --address unix:path=/tmp/bus --state /tmp/notifyd --log-level debug
            """,
        version: notifydVersion)

    @Option(help: ArgumentHelp("The D-Bus address to use instead of the session bus.", valueName: "address"))
    var address: String?

    @Option(
        help: ArgumentHelp("The configuration file to read instead of all others.", valueName: "file"),
        completion: .file(extensions: ["toml"]))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "The state directory to use instead of $XDG_STATE_HOME/notifyd.",
            valueName: "directory"), completion: .directory)
    var state: String?

    @Option(help: ArgumentHelp("How much to log, instead of what the configuration says.", valueName: "level"))
    var logLevel: LogLevel?

    @Flag(help: "Check the configuration, say what is wrong or in force, and exit.")
    var checkConfig = false

    @Flag(help: "Print the routes in force, one line each for programs to read, and exit.")
    var printRoutes = false

    @Flag(help: "Give the journal a new device, print it, and exit; for a copied disk. notifyd must not run.")
    var newDevice = false

    /// The daemon starts itself with this option to check a large journal.
    @Option(help: .hidden)
    var checkJournal: String?

    static func main() { runToEnd() }

    func run() throws {
        if let checkJournal {
            StandardStreams.write("\(IntegrityCheck(of: checkJournal))\n")
            return
        }
        if checkConfig || printRoutes || newDevice {
            let (code, text) =
                newDevice ? takeNewDevice(state: state) : checkConfig ? checkConfiguration(config) : listRoutes(config)
            if code == 0 { StandardStreams.write(text + "\n") } else { StandardStreams.writeToError(text + "\n") }
            throw ArgumentParser.ExitCode(code)
        }
        let options = DaemonOptions(address: address, configuration: config, state: state, logLevel: logLevel?.level)
        throw ArgumentParser.ExitCode(runNotifyDaemon(options))
    }
}
