import ArgumentParser
import ChildProcesses
import Glibc
import NotifyText
import Routing
import UserFiles
import WindowRules

struct ShellInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Print what a shell runs to report the end of long commands.",
        discussion: """
            Commands that took 30 seconds or longer are reported, and not those that begin with a space or are interactive, such as \
            ssh and less. Set NOTIFYD_SHELL_SECONDS and NOTIFYD_SHELL_IGNORE to change it.

            Without a session bus nothing is printed, and nothing reported.

            Examples:
              eval "$(notifyctl shell init bash)"
              notifyctl shell init fish | source
            """)

    @Argument(help: "bash, zsh or fish.")
    var shell: ShellScript

    func run() {
        let environment = ChildProcess.currentEnvironment
        guard Self.hasBus(environment) else { return }
        let program = FileFacts.link(at: "/proc/self/exe") ?? "notifyctl"
        let pane = TerminalPane.current(environment)
        Terminal.write(
            shell.text(program: program, topic: ShellTopic(host: HostName.current, pane: pane).topic.description))
    }

    /// A shell over ssh may have none. The bus itself is not asked: nobody waits for it at the start of a shell.
    private static func hasBus(_ environment: [String: String]) -> Bool {
        if environment["DBUS_SESSION_BUS_ADDRESS"]?.isEmpty == false { return true }
        return environment["XDG_RUNTIME_DIR"].map { access($0 + "/bus", F_OK) == 0 } ?? false
    }
}
