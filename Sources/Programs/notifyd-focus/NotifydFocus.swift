import ArgumentParser
import Logging
import NotifyVersion
import StandardStreams
import WindowRules

/// The command line. It is synchronous, because the event loop owns the main thread.
@main
struct NotifydFocus: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyd-focus",
        abstract: "Holds screens at notifyd for the windows that are looked at.",
        discussion: """
            Its rules are in ~/.config/notifyd/focus.toml: notifyd-focus.toml(5). notifyctl(1) shows what it sees: notifyctl focus.

            Examples:
              systemctl --user enable --now notifyd-focus
              notifyd-focus --check-config --config new.toml
            """,
        version: projectVersion)

    @Option(help: ArgumentHelp("The D-Bus address to use instead of the session bus.", valueName: "address"))
    var address: String?

    @Option(
        help: ArgumentHelp(
            "The configuration file to read instead of ~/.config/notifyd/focus.toml.", valueName: "file"),
        completion: .file(extensions: ["toml"]))
    var config: String?

    @Option(help: ArgumentHelp("How much to log: of this level and above.", valueName: "level"))
    var logLevel: LogLevel?

    @Flag(help: "Check the configuration, say what is wrong, and exit.")
    var checkConfig = false

    static func main() { runToEnd() }

    func run() throws {
        let file = RulesFile(config)
        if checkConfig { throw ArgumentParser.ExitCode(check(file)) }
        throw ArgumentParser.ExitCode(FocusProgram(file: file, address: address, logLevel: logLevel?.level).run())
    }

    private func check(_ file: RulesFile) -> Int32 {
        do {
            let count = try file.read().rules.count
            StandardStreams.write("\(file.path) is good: \(count) rule\(count == 1 ? "" : "s").\n")
            return FocusExit.success
        } catch {
            StandardStreams.writeToError("\(error)\n")
            return FocusExit.badConfiguration
        }
    }
}
