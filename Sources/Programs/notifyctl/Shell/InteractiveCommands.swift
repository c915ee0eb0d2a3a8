import Glibc

/// Commands that take as long as their user likes, so that their end is no news.
struct InteractiveCommands {
    /// Those that a shell leaves out if nothing else is set. Others are recognised by the input that they take: see
    /// `TerminalInput`. Older kernels do not tell of what is read from /dev/tty, as pagers do.
    static let usual = [
        "btop", "emacs", "gdb", "git blame", "git diff", "git log", "git reflog", "git show", "helix", "htop", "info",
        "journalctl",
        "kak", "less", "lf", "man", "mc", "micro", "more", "mosh", "most", "mutt", "mysql", "nano", "ncmpcpp",
        "neomutt", "nvim", "psql",
        "ranger", "screen", "sftp", "sqlite3", "telnet", "tig", "tmux", "top", "vi", "view", "vim", "vimdiff", "watch",
        "weechat",
    ].joined(separator: ":")

    /// What stands before the program that a command is about, and which of its options are followed by a word of their
    /// own.
    private static let prefixes: [Substring: String] = [
        "builtin": "", "command": "", "doas": "uC", "env": "uCS", "exec": "a", "nice": "n", "noglob": "", "nohup": "",
        "sudo": "CDghpRrTtUu", "time": "fo",
    ]
    /// The long ones of them.
    private static let longOptions: Set<Substring> = [
        "--adjustment", "--chdir", "--chroot", "--format", "--group", "--host", "--output", "--prompt", "--role",
        "--type", "--unset",
        "--user",
    ]

    /// Each is the words with which a command begins, such as "git log".
    private let patterns: [[Substring]]

    /// - Parameter list: separated by colons; each of their words is a pattern of fnmatch(3).
    init(_ list: String) {
        patterns = list.split { $0 == ":" || $0 == "\n" }.map(Self.words).filter { !$0.isEmpty }
    }

    /// Whether a command line begins with one of them. It is only looked at: nothing of it is expanded.
    func contains(_ line: String) -> Bool {
        var words = Self.words(line[...])[...]
        var prefix: String?
        while let word = words.first {
            if Self.isAssignment(word) {
                words.removeFirst()
            } else if let options = prefix, word.hasPrefix("-") {
                words = words.dropFirst(Self.isFollowedByValue(word, options) ? 2 : 1)
            } else {
                if isOne(words) { return true }
                guard let options = Self.prefixes[Self.name(word)] else { return false }
                prefix = options
                words.removeFirst()
            }
        }
        // Such as "sudo -i".
        return prefix != nil
    }

    private func isOne(_ words: ArraySlice<Substring>) -> Bool {
        patterns.contains { pattern in
            guard pattern.count <= words.count else { return false }
            return zip(pattern, words).enumerated().allSatisfy { index, pair in
                fnmatch(String(pair.0), String(index == 0 ? Self.name(pair.1) : pair.1), 0) == 0
            }
        }
    }

    private static func words(_ text: Substring) -> [Substring] { text.split { $0 == " " || $0 == "\t" } }

    /// Such as "-u" and "-nu", but not "-umina".
    private static func isFollowedByValue(_ word: Substring, _ options: String) -> Bool {
        if word.hasPrefix("--") { return longOptions.contains(word) }
        return word.firstIndex { options.contains($0) }.map { word.index(after: $0) == word.endIndex } ?? false
    }

    /// Such as `LC_ALL=C`.
    private static func isAssignment(_ word: Substring) -> Bool {
        guard let sign = word.firstIndex(of: "="), let first = word.first, first == "_" || first.isLetter else {
            return false
        }
        return word[..<sign].allSatisfy { $0 == "_" || $0.isLetter || $0.isNumber }
    }

    /// Without the folder, and without the backslash that avoids an alias.
    private static func name(_ word: Substring) -> Substring {
        let word = word.drop { $0 == "\\" }
        guard let slash = word.lastIndex(of: "/") else { return word }
        return word[word.index(after: slash)...]
    }
}
