import ArgumentParser

struct ShellCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shell",
        abstract: "Be told when a long command in a terminal has ended that you do not look at.",
        discussion: """
            One line in the configuration of a shell turns it on; for panes of tmux there is one for tmux.conf. On a terminal, “notifyctl \
            shell init bash” prints them with the full paths of the programs, which also work where the search path lacks them:
              eval "$(notifyctl shell init bash)"    # ~/.bashrc
              eval "$(notifyctl shell init zsh)"     # ~/.zshrc
              notifyctl shell init fish | source     # ~/.config/fish/config.fish
            and in ~/.tmux.conf:
              set -g focus-events on; run-shell -b 'notifyd-focus --tmux'
            """,
        subcommands: [ShellInitCommand.self, ShellEndedCommand.self])
}
