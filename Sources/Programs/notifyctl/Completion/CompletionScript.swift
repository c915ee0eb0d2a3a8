import ArgumentParser

/// The completion scripts of the argument parser. In all shells “help” is corrected, which offered no commands, and in bash
/// three places more.
enum CompletionScript {
    private static let commands = NotifyctlCommand.configuration.subcommands.compactMap { $0.configuration.commandName }

    static func mended(_ script: String) -> String {
        if script.hasPrefix("#!/bin/bash\n") { return mendedForBash(script) }
        if script.hasPrefix("#compdef ") {
            return script.replacing("'*:subcommands:'", with: "':subcommands:(\(commands.joined(separator: " ")))'")
        }
        guard script.hasPrefix("function __notifyctl_") else { return script }
        return script + """
            \ncomplete -c 'notifyctl' -n '__notifyctl_should_offer_completions_for_positional "notifyctl help" -eq 1' \
            -fa '\(commands.joined(separator: " "))'
            """
    }

    /// As a word of bash, one command a line.
    private static var bashList: String { "$'" + commands.joined(separator: "\\n") + "'" }

    private static func mendedForBash(_ script: String) -> String {
        script
            // This option makes bash treat every word as a file name: it shows only the last segment of a topic, and adds a
            // slash if there is such a folder.
            .replacing("complete -o filenames -F", with: "complete -F")
            .replacing(
                "__notifyctl_add_completions() {\n",
                with: """
                    __notifyctl_add_completions() {
                        [[ "${1}" = -W ]] || compopt -o filenames 2>/dev/null

                    """
            )
            .replacing(
                "_notifyctl_help() {\n",
                with: """
                    _notifyctl_help() {
                        if ((COMP_CWORD == 2)); then
                            __notifyctl_add_completions -W \(bashList)
                        fi

                    """
            )
            .replacing(
                "_notifyctl_screen() {\n",
                with: """
                    _notifyctl_screen() {
                        # After -- comes a command with its arguments.
                        local -i word
                        for ((word = 2; word < COMP_CWORD; word++)); do
                            [[ "${COMP_WORDS[word]}" = -- ]] || continue
                            if ((word + 1 == COMP_CWORD)) && [[ "${cur}" != */* ]]; then
                                __notifyctl_add_completions -c
                            else
                                __notifyctl_add_completions -f
                            fi
                            return
                        done

                    """)
    }
}
