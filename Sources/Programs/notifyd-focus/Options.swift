import Logging

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
