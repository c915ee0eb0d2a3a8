import ArgumentParser
import Glibc
import NotifyClient
import NotifyText
import UserFiles
import Watching

struct ShellCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shell", abstract: "Be told when a long command in a terminal has ended that you do not look at.",
        discussion: """
            One line in the configuration of a shell turns it on; for panes of tmux there is one for tmux.conf. \
            “notifyctl setup shell tmux” writes both. On a terminal, “notifyctl shell init bash” prints them with the \
            full paths of the programs, which also work where the search path lacks them:
              eval "$(notifyctl shell init bash)"    # ~/.bashrc
              eval "$(notifyctl shell init zsh)"     # ~/.zshrc
              notifyctl shell init fish | source     # ~/.config/fish/config.fish
            and in ~/.tmux.conf:
              set -g focus-events on; run-shell -b 'notifyd-focus --tmux'
            """,
        subcommands: [ShellInitCommand.self, ShellEndedCommand.self])
}

struct ShellInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Print what a shell runs to report the end of long commands.",
        discussion: """
            On a terminal it prints the line for the configuration instead, with the full path of this program: the \
            search path need not be set there yet.

            Commands that took 30 seconds or longer are reported, and not those that begin with a space, or that took \
            what was typed until their end, such as less and a shell on another machine. Set NOTIFYD_SHELL_SECONDS and \
            NOTIFYD_SHELL_IGNORE to change it.

            Without a session bus nothing is printed for the shell, and nothing reported.

            Examples:
              notifyctl shell init bash
              eval "$(notifyctl shell init bash)"
              notifyctl shell init fish | source
            """)

    @Argument(help: "bash, zsh or fish.") var shell: ShellScript

    func run() {
        let program = Daemon.ownPath ?? "notifyctl"
        guard !Terminal.isInteractive else { return Terminal.write(shell.advice(program: program)) }
        guard Self.hasBus else { return }
        let topic = ShellTopic(
            host: HostName.current, pane: TerminalPane.current(ChildProcess.currentEnvironment)
        ).topic
        Terminal.write(
            shell.text(program: program, topic: topic.description, terminal: "/dev/" + TerminalPane.terminal))
    }

    /// A shell over ssh may have none. The bus itself is not asked: nobody waits for it at the start of a shell.
    private static var hasBus: Bool {
        guard let address = NotifyClient.sessionBusAddress else { return false }
        let prefix = "unix:path="
        guard address.hasPrefix(prefix), !address.contains("%") else { return true }
        return access(String(address.dropFirst(prefix.count).prefix { $0 != "," && $0 != ";" }), F_OK) == 0
    }
}

struct ShellEndedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ended", abstract: "Report that a command has ended, as “shell init” has shells do.",
        discussion: """
            The command is in the variable NOTIFYD_SHELL_COMMAND, those that are not reported are in \
            NOTIFYD_SHELL_IGNORE, and when the terminal was last read from, in seconds since 1970, is in \
            NOTIFYD_SHELL_INPUT. It gives up after 10 seconds.

            Examples:
              export NOTIFYD_SHELL_COMMAND='make test'
              notifyctl shell ended --topic /shell/lab/pts-3 --status 2 --after 95s
            """)

    /// A hanging bus keeps nothing behind.
    private static let patience: UInt32 = 10

    @Option(help: "Where it is reported; shells have it in NOTIFYD_SHELL_TOPIC.", completion: Completion.prefixes)
    var topic: String
    @Option(
        parsing: .unconditional, help: "The exit status of the command.",
        transform: NumberArgument.parse(0...255, "an exit status"))
    var status: Int
    @Option(parsing: .unconditional, help: "How long the command took, such as 95s.", transform: DurationArgument.parse)
    var after: Duration

    @OptionGroup var bus: BusOptions

    func run() async throws {
        alarm(Self.patience)
        let input = Self.variable("NOTIFYD_SHELL_INPUT").flatMap { Int64($0) }.map { TerminalInput(lastRead: $0) }
        guard input?.wasTaken(upTo: Int64(time(nil)), by: after) != true else { return }
        let report = ShellReport(
            command: Self.variable("NOTIFYD_SHELL_COMMAND") ?? "", status: status, duration: after,
            ignored: Self.variable("NOTIFYD_SHELL_IGNORE") ?? InteractiveCommands.usual)
        guard let report else { return }
        var fields: Fields = [
            "exit-code": .int64(Int64(status)), "duration": .int64(after.components.seconds),
        ]
        if let directory = getcwd(nil, 0) {
            fields["directory"] = .string(ShellReport.sendable(String(cString: directory)))
            free(directory)
        }
        let client = try await bus.connect()
        try await client.publish(
            topic, title: report.title, body: report.body, fields: fields,
            options: PublishOptions(
                appearance: BannerOptions(
                    app: "Terminal", icon: report.hasFailed ? "dialog-error" : "utilities-terminal")))
        await client.close()
    }

    /// A command may have bytes that are not UTF-8.
    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

/// The scripts beside this file, which the program carries with it.
enum ShellScript: String, CaseIterable, ExpressibleByArgument {
    case bash, zsh, fish

    /// How long a command has to take, in seconds.
    static let seconds = 30

    private var source: [UInt8] {
        switch self {
        case .bash: PackageResources.notifyd_bash
        case .zsh: PackageResources.notifyd_zsh
        case .fish: PackageResources.notifyd_fish
        }
    }

    /// - Parameters:
    ///   - program: the path of notifyctl.
    ///   - topic: at which the shell reports.
    ///   - terminal: the path of its terminal.
    func text(program: String, topic: String, terminal: String) -> String {
        var text = String(decoding: source, as: UTF8.self)
        text.replace("@seconds@", with: String(Self.seconds))
        // In bash it stands within quotes.
        text.replace("@ignore@", with: self == .bash ? InteractiveCommands.usual : quoted(InteractiveCommands.usual))
        text.replace("@topic@", with: quoted(topic))
        text.replace("@terminal@", with: quoted(terminal))
        text.replace("@program@", with: quoted(program))
        return text
    }

    /// What somebody who has called “shell init” by hand is told: the lines for the configuration, which find the
    /// programs whatever the search path is by then.
    ///
    /// - Parameter program: the path of notifyctl.
    func advice(program: String) -> String {
        """
        # At the end of \(["bash": "~/.bashrc", "zsh": "~/.zshrc"][rawValue] ?? "~/.config/fish/config.fish"):
        \(line(program: program))
        # With tmux, in ~/.tmux.conf:
        \(Self.tmuxLine(command: "\(word(Self.focus(beside: program))) --tmux"))

        """
    }

    /// The line that turns the reports on.
    func line(program: String) -> String {
        let command = "\(word(program)) shell init \(rawValue)"
        return self == .fish ? "\(command) | source" : #"eval "$(\#(command))""#
    }

    /// The same for a program that may be gone some day: it is passed over then, and in scripts.
    func guardedLine(program: String) -> String {
        let (file, line) = (word(program), line(program: program))
        return self == .fish
            ? "if status is-interactive; and test -x \(file); \(line); end" : "[ ! -x \(file) ] || \(line)"
    }

    /// The line for tmux, with a command of sh(1).
    static func tmuxLine(command: String) -> String {
        "set -g focus-events on; run-shell -b \"\(tmuxQuoted(command))\""
    }

    /// What stands for itself within the double quotes of tmux, which expands formats (`#`) in a command as well.
    static func tmuxQuoted(_ text: String) -> String {
        String(
            text.flatMap { character in
                switch character {
                case "\\", "\"", "$": "\\\(character)"
                case "#": "##"
                default: String(character)
                }
            })
    }

    static func focus(beside program: String) -> String {
        program.prefix(through: program.lastIndex(of: "/") ?? program.startIndex) + "notifyd-focus"
    }

    /// Quoted if it has to be.
    func word(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || ("-"..."9").contains(scalar) || scalar == "_")
        }
        return isPlain ? text : quoted(text)
    }

    /// A word of the shell that stands for itself.
    private func quoted(_ text: String) -> String {
        let escaped =
            switch self {
            case .bash, .zsh: text.replacing("'", with: #"'\''"#)
            case .fish: text.replacing(#"\"#, with: #"\\"#).replacing("'", with: #"\'"#)
            }
        return "'\(escaped)'"
    }
}
