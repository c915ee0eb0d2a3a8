/// The completion script for bash of the argument parser, corrected in three places.
enum BashScript {
    static func mended(_ script: String) -> String {
        guard script.hasPrefix("#!/bin/bash\n") else { return script }
        return
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
