/// The completion script for bash as the argument parser writes it, mended in three places.
enum BashScript {
    static func mended(_ script: String) -> String {
        guard script.hasPrefix("#!/bin/bash\n") else { return script }
        return
            script
            // With this bash takes every word for the name of a file: it shows the last segment of a topic alone, and adds a
            // slash where there happens to be such a folder.
            .replacing("complete -o filenames -F", with: "complete -F")
            .replacing(
                "__notifyctl_add_completions() {\n",
                with: """
                    __notifyctl_add_completions() {
                        [[ "${1}" = -W ]] || compopt -o filenames 2>/dev/null

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
