import ArgumentParser

/// The completion scripts of the argument parser. In all shells two things are corrected: “help” and “screen … --”
/// offered no commands. In bash topics are not file names, and in bash and zsh the value of an option may follow a “=”.
enum CompletionScript {
    private static let commands = NotifyctlCommand.configuration.subcommands.compactMap { $0.configuration.commandName }

    static func mended(_ script: String) -> String {
        if script.hasPrefix("#!/bin/bash\n") { return mendedForBash(script) }
        if script.hasPrefix("#compdef ") { return mendedForZsh(script) }
        guard script.hasPrefix("function __notifyctl_") else { return script }
        return script + """
            \nfunction __notifyctl_is_at_command
                set -l tokens (commandline -opc)
                test "$tokens[2]" = screen; and contains -- -- $tokens
            end

            function __notifyctl_complete_command
                set -l tokens (commandline -opc)
                set -l command $tokens[(math (contains -i -- -- $tokens) + 1)..]
                complete -C (string join ' ' -- (string escape -- $command) (commandline -ct))
            end

            complete -c 'notifyctl' -n '__notifyctl_is_at_command' -fa '(__notifyctl_complete_command)'
            \ncomplete -c 'notifyctl' -n '__notifyctl_should_offer_completions_for_positional "notifyctl help" -eq 1' \
            -fa '\(commands.joined(separator: " "))'
            """
    }

    private static func mendedForZsh(_ script: String) -> String {
        let mended = script.replacing("'*:subcommands:'", with: "':subcommands:(\(commands.joined(separator: " ")))'")
            // Of words with the same meaning it would make groups, and sort them: the oldest event would be the first.
            .replacing(
                "    _describe -V '' non_empty",
                with: "    zstyle ':completion:*:notifyctl*:values' list-grouped false\n    _describe -V '' non_empty"
            )
            .replacing("'*:command:'", with: "'*:command:__notifyctl_complete_command'")
            .replacing(
                "__notifyctl_custom_complete() {\n",
                with: """
                    __notifyctl_complete_command() {
                        local -i end="${words[(i)--]}"
                        (( end < CURRENT )) || return
                        shift end words
                        CURRENT=$((CURRENT - end))
                        _normal
                    }

                    __notifyctl_custom_complete() {

                    """)
        // An option with a value and without a short form: “'--json[”, or “'*--action[” if it may be repeated.
        let lines = mended.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard line.wholeMatch(of: /\s+'\*?--[a-z-]+\[.*\]:.*/) != nil, let bracket = line.firstIndex(of: "[") else {
                return line
            }
            return line[..<bracket] + "=" + line[bracket...]
        }
        return lines.joined(separator: "\n")
    }

    /// As a word of bash, one command a line.
    private static var bashList: String { "$'" + commands.joined(separator: "\\n") + "'" }

    private static func mendedForBash(_ script: String) -> String {
        script
            // This option makes bash treat every word as a file name: it shows only the last segment of a topic, and
            // adds a slash if there is such a folder.
            .replacing("complete -o filenames -F", with: "complete -F")
            .replacing(
                "__notifyctl_add_completions() {\n",
                with: """
                    __notifyctl_add_completions() {
                        [[ "${1}" = -W ]] || compopt -o filenames 2>/dev/null

                    """
            )
            // bash makes a word of the “=” in --json=short, where the script expects --json short.
            .replacing(
                """
                    local -r cur="${2}"
                    local -r prev="${3}"

                """,
                with: """
                        local -i word
                        for ((word = COMP_CWORD; word > 1; word--)); do
                            [[ "${COMP_WORDS[word]}" = "=" && "${COMP_WORDS[word - 1]}" = --* ]] || continue
                            if ((word == COMP_CWORD)); then
                                COMP_WORDS[word]=""
                            else
                                COMP_WORDS=("${COMP_WORDS[@]:0:word}" "${COMP_WORDS[@]:word + 1}")
                                ((COMP_CWORD--))
                            fi
                        done
                        local -r cur="${2#=}"
                        local -r prev="${COMP_WORDS[COMP_CWORD - 1]}"

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
