import Glibc
import Logging
import NotifyText
import TOMLTables
import Watching

/// The command line. The event loop owns the main thread. Without ArgumentParser, which brings Foundation, and would
/// take more memory than all the rest.
@main
enum NotifydFocus {
    static func main() {
        openStandardStreams()
        do throws(UsageMistake) {
            exit(run(try Options(CommandLine.arguments.dropFirst())))
        } catch {
            complain(error.description)
            exit(ExitStatus.wrongUsage)
        }
    }

    /// The first file or socket would get the number of a stream that is closed, and logs would go there.
    private static func openStandardStreams() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDWR)
        }
    }

    private static func run(_ options: Options) -> Int32 {
        if options.isHelp { return write(Options.help) }
        if options.isVersion { return write(projectVersion + "\n") }
        if options.isForTmux { return holdPanes(options) }
        let file = RulesFile(options.configuration)
        guard options.checksConfiguration else {
            return FocusProgram(file: file, address: options.address, logLevel: options.logLevel).run()
        }
        do throws(ConfigurationError) {
            let count = try file.read().rules.count
            return write("\(file.path) is good: \(count) rule\(count == 1 ? "" : "s").\n")
        } catch {
            for line in error.lines { complain(line) }
            return ExitStatus.badConfiguration
        }
    }

    private static func holdPanes(_ options: Options) -> Int32 {
        guard let server = getenv("TMUX").flatMap({ TmuxServer(variable: String(cString: $0)) }) else {
            complain(
                "--tmux is for tmux. Write into ~/.tmux.conf: "
                    + "set -g focus-events on; run-shell -b 'notifyd-focus --tmux'")
            return ExitStatus.wrongUsage
        }
        return PaneProgram(server: server, address: options.address).run()
    }

    /// - Returns: the exit code.
    private static func write(_ text: String) -> Int32 {
        isWritten(text, to: STDOUT_FILENO) ? ExitStatus.success : ExitStatus.outputFailed
    }

    private static func complain(_ text: String) {
        _ = isWritten("notifyd-focus: " + text.visible() + "\n", to: STDERR_FILENO)
    }

    private static func isWritten(_ text: String, to descriptor: CInt) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { return false }
            rest = rest.dropFirst(max(0, count))
        }
        return true
    }
}

/// The options of the command line.
struct Options: Equatable {
    var address: String?
    var configuration: String?
    var logLevel: Logger.Level?
    var checksConfiguration = false
    /// Holds screens for the panes of a tmux instead of windows.
    var isForTmux = false
    /// What is printed instead of doing anything else.
    var isHelp = false
    var isVersion = false

    static let help = """
        OVERVIEW: Holds screens at notifyd for the windows that are looked at.

        Its rules are in ~/.config/notifyd/focus.toml: notifyd-focus.toml(5). notifyctl(1) shows what \
        it sees: notifyctl focus.

        Examples:
          systemctl --user enable --now notifyd-focus
          notifyd-focus --check-config --config new.toml
          set -g focus-events on; run-shell -b 'notifyd-focus --tmux'    (in ~/.tmux.conf)

        USAGE: notifyd-focus [--address <address>] [--config <file>] [--log-level <level>] [--check-config]
               notifyd-focus --tmux [--address <address>]

        OPTIONS:
          --address <address>     The D-Bus address to use instead of the session bus.
          --config <file>         The configuration file to read instead of ~/.config/notifyd/focus.toml.
          --log-level <level>     How much to log: trace, debug, info, notice, warning, error or critical, and above.
          --check-config          Check the configuration, say what is wrong, and exit.
          --tmux                  In a tmux: hold screens for its panes instead of windows.
          --version               Show the version.
          -h, --help              Show help information.

        """

    init() {}

    /// - Parameter arguments: without the name of the program.
    init(_ arguments: some Sequence<String>) throws(UsageMistake) {
        var rest = ArraySlice(Array(arguments))
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let name = parts[0]
            func value() throws(UsageMistake) -> String {
                if parts.count == 2 { return parts[1] }
                guard let next = rest.popFirst() else { throw UsageMistake("\(name) needs a value.") }
                return next
            }
            switch name {
            case "--address": address = try value()
            case "--config": configuration = try value()
            case "--log-level":
                let text = try value()
                guard let level = Logger.Level(rawValue: text) else {
                    throw UsageMistake(
                        "“\(text)” is not a level; there are "
                            + "\(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))."
                    )
                }
                logLevel = level
            case "--check-config" where parts.count == 1: checksConfiguration = true
            case "--tmux" where parts.count == 1: isForTmux = true
            case "--help" where parts.count == 1, "-h" where parts.count == 1: isHelp = true
            case "--version" where parts.count == 1: isVersion = true
            default: throw UsageMistake("“\(argument)” is not an option; --help lists them.")
            }
        }
        if isForTmux, configuration != nil || checksConfiguration || logLevel != nil {
            throw UsageMistake(
                "--tmux has no configuration and no log: leave out --config, --check-config and --log-level.")
        }
    }
}

/// A command line that means nothing: a sentence.
struct UsageMistake: Error, Equatable {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
