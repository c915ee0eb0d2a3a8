internal import ArgumentParser
import Logging
import NotifyText
import StandardStreams
import TOMLTables
import UserFiles

/// The command line of a bridge. It is synchronous on purpose: signals are blocked before the first thread starts.
struct BridgeCommand<Program: Bridge>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "notifyd-\(Program.name)", abstract: Program.abstract,
            discussion: """
                Its configuration is ~/.config/notifyd/\(Program.name).toml. “notifyctl bridges” shows how it is.

                Exit codes: 0 told to end, 64 wrong usage, 65 bad data, 69 it runs already, 71 the state cannot be \
                used, 75 no bus, 78 bad configuration.
                """,
            version: projectVersion)
    }

    @Option(help: ArgumentHelp("The D-Bus address to use instead of the session bus.", valueName: "address"))
    var address: String?

    @Option(
        help: ArgumentHelp("The configuration file to read.", valueName: "file"),
        completion: .file(extensions: ["toml"]))
    var config: String?

    @Option(
        help: ArgumentHelp("The state directory to use instead of that in $XDG_STATE_HOME.", valueName: "directory"),
        completion: .directory)
    var state: String?

    @Option(
        help: ArgumentHelp(
            "How much to log: trace, debug, info, notice, warning, error or critical, and above.", valueName: "level"))
    var logLevel: LogLevel?

    @Flag(help: "Check the configuration, say what is wrong, and exit.")
    var checkConfig = false

    static func main() { runToEnd() }

    func run() throws {
        let file = ConfigurationFile<Program>(path: config)
        if checkConfig {
            do throws(ConfigurationError) {
                let settings = try file.readWithSecrets(isRunning: false)
                for warning in Program.warnings(in: settings) {
                    StandardStreams.writeToError("\(file.path): warning: \(warning)\n")
                }
                StandardStreams.write("The configuration is good (\(file.path)).\n")
            } catch {
                StandardStreams.writeToError(error.description + "\n")
                throw ExitCode(ExitStatus.badConfiguration)
            }
            return
        }
        BridgeProgram(file: file, address: address, state: state, logLevel: logLevel?.level).run()
    }
}

/// The configuration file of a bridge.
struct ConfigurationFile<Program: Bridge>: Sendable {
    let path: String

    /// - Parameter path: `nil` for the usual place.
    init(path: String?) {
        self.path =
            path.map { BaseDirectories.absolute(path: $0) } ?? BaseDirectories().configuration + "/\(Program.name).toml"
    }

    /// Reads the files and credentials too that it names.
    func readWithSecrets(isRunning: Bool) throws(ConfigurationError) -> Program.Settings {
        let settings = try read()
        let mistakes = Program.mistakes(in: settings, isRunning: isRunning).map { reason in
            ConfigurationError.Mistake(file: path, line: 0, column: 0, reason: reason)
        }
        guard mistakes.isEmpty else { throw ConfigurationError(mistakes) }
        return settings
    }

    func read() throws(ConfigurationError) -> Program.Settings {
        let text = try ConfigurationText.read(path)
        do throws(ConfigurationError) {
            return try TableReader.read(file: path, text: text ?? "", Program.settings)
        } catch {
            guard text == nil else { throw error }
            throw ConfigurationError(
                file: path, line: 0, column: 0, reason: "there is no such file, and \(error.mistakes[0].reason)")
        }
    }
}
