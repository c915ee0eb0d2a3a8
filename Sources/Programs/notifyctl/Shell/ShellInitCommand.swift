import ArgumentParser
import ChildProcesses
import Glibc
import NotifyClient
import NotifyText
import Routing
import UserFiles
import WindowRules

struct ShellInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Print what a shell runs to report the end of long commands.",
        discussion: """
            On a terminal it prints the line for the configuration instead, with the full path of this program: the search path need not be \
            set there yet.

            Commands that took 30 seconds or longer are reported, and not those that begin with a space, or that took what was typed \
            until their end, such as less and a shell on another machine. Set NOTIFYD_SHELL_SECONDS and NOTIFYD_SHELL_IGNORE to change it.

            Without a session bus nothing is printed for the shell, and nothing reported.

            Examples:
              notifyctl shell init bash
              eval "$(notifyctl shell init bash)"
              notifyctl shell init fish | source
            """)

    @Argument(help: "bash, zsh or fish.")
    var shell: ShellScript

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
        guard address.hasPrefix(prefix) else { return true }
        return access(String(address.dropFirst(prefix.count).prefix { $0 != "," && $0 != ";" }), F_OK) == 0
    }
}
