/// Commands that take as long as their user likes, so that their end is no news.
struct InteractiveCommands {
    /// Those that a shell leaves out if nothing else is set.
    static let usual = [
        "bash", "btop", "dash", "emacs", "fish", "gdb", "helix", "htop", "info", "journalctl", "kak", "less", "lf",
        "man", "mc",
        "micro", "more", "mosh", "most", "mutt", "mysql", "nano", "ncmpcpp", "neomutt", "nvim", "psql", "ranger",
        "screen", "sftp",
        "sh", "sqlite3", "ssh", "su", "telnet", "tig", "tmux", "top", "vi", "view", "vim", "vimdiff", "watch",
        "weechat", "zsh",
    ]

    /// What stands before the program that a command is about.
    private static let prefixes: Set<Substring> = [
        "builtin", "command", "doas", "env", "exec", "nice", "noglob", "nohup", "sudo", "time",
    ]

    private let names: Set<Substring>

    /// - Parameter list: names, separated by space.
    init(_ list: String) {
        names = Set(list.split { $0 == " " || $0 == "\t" || $0 == "\n" })
    }

    /// Whether a command line begins with one of them. It is only looked at: nothing of it is expanded.
    func contains(_ line: String) -> Bool {
        var words = line.split { $0 == " " || $0 == "\t" }[...]
        var isAfterPrefix = false
        while let word = words.popFirst() {
            if Self.isAssignment(word) || isAfterPrefix && word.hasPrefix("-") { continue }
            let name = Self.name(word)
            if names.contains(name) { return true }
            guard Self.prefixes.contains(name) else { return false }
            isAfterPrefix = true
        }
        // Such as “sudo -i”.
        return isAfterPrefix
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
