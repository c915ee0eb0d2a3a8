import Glibc
import NotifyClient
import NotifyText
import Watching

/// What is said of a command that has ended.
struct ShellReport: Equatable {
    /// The longest title, in characters.
    static let longestTitle = 80
    /// A command that Ctrl-C has ended, or that is stopped, as by Ctrl-Z: whoever typed that is there.
    private static let statusesByHand: Set<Int> = [130, 147, 148, 149, 150]

    let title: String
    let body: String
    let hasFailed: Bool

    /// - Parameters:
    ///   - command: as it was typed. It is only text.
    ///   - ignored: the commands that are not reported, as `InteractiveCommands` reads them.
    /// - Returns: `nil` if it is not to be reported.
    init?(command: String, status: Int, duration: Duration, ignored: String) {
        let line = command.unicodeScalars.split { $0 == "\n" || $0 == "\r" }.first.map { String($0) } ?? ""
        let words = String(line.unicodeScalars.drop { $0 == " " || $0 == "\t" })
        // Who begins a command with a space does not want it to be remembered.
        guard !words.isEmpty, command.unicodeScalars.first == words.unicodeScalars.first else { return nil }
        guard !Self.statusesByHand.contains(status), !InteractiveCommands(ignored).contains(words) else { return nil }
        title = Self.cut(Self.sendable(words).visible())
        hasFailed = status != 0
        body = (hasFailed ? "Exit status \(status)" : "Done") + " after \(Self.text(duration))"
    }

    /// Without what no message holds.
    static func sendable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isForInternalUse ? "\u{FFFD}" : $0 }))
    }

    private static func cut(_ text: String) -> String {
        guard text.unicodeScalars.count > longestTitle else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(longestTitle - 1))) + "…"
    }

    /// Such as `42 s`, `5 min 12 s` and `3 h 5 min`.
    private static func text(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
        default: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
        }
    }
}

/// Commands that take as long as their user likes, so that their end is not worth reporting.
struct InteractiveCommands {
    /// Those that a shell leaves out if nothing else is set. Others are recognised by the input that they take: see
    /// `TerminalInput`. Older kernels do not report what is read from /dev/tty, as pagers do.
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
    init(_ list: String) { patterns = list.split { $0 == ":" || $0 == "\n" }.map(Self.words).filter { !$0.isEmpty } }

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

/// When something was last read from a terminal, as the time of access of its device tells.
struct TerminalInput: Equatable {
    /// The kernel notes the time only when another 8 seconds have begun, so that nobody can measure how somebody types.
    private static let grain: Int64 = 8

    /// In seconds since 1970-01-01 00:00 UTC.
    let lastRead: Int64

    /// Whether a command read what was typed until shortly before its end: then whoever typed it is there. Such are
    /// editors, pagers, shells on other machines and everything that is asked to end by a key. A command that only
    /// asked at its beginning is not among them.
    ///
    /// - Parameters:
    ///   - end: when the command ended, in whole seconds.
    ///   - duration: how long it took. The shell itself has read from the terminal just before it began.
    func wasTaken(upTo end: Int64, by duration: Duration) -> Bool {
        // Rounding may put the beginning a second too early.
        let start = end - duration.components.seconds + 1
        return lastRead / Self.grain > start / Self.grain && lastRead / Self.grain >= end / Self.grain - 1
    }
}

/// In which pane or window this process runs.
enum TerminalPane {
    /// - Parameter environment: that of the shell.
    static func current(_ environment: [String: String]) -> ShellTopic.Pane {
        if let pane = tmux(environment, parentOfSession: parentOfSession) { return pane }
        if let window = environment["WINDOWID"].flatMap({ UInt64($0) }), window > 0 { return .window(window) }
        return .terminal(terminal)
    }

    /// A pane of tmux.
    ///
    /// - Parameter parentOfSession: who started the leader of this session; the server of tmux, if it is a shell of
    ///   tmux. A window of another terminal that was opened from there has the same variables.
    static func tmux(_ environment: [String: String], parentOfSession: UInt32?) -> ShellTopic.Pane? {
        // Socket, server and session, of which the first may have commas; and such as %3.
        guard let server = environment["TMUX"]?.split(separator: ",").dropLast().last.flatMap({ UInt32($0) }),
            let name = environment["TMUX_PANE"], name.hasPrefix("%"), let pane = UInt32(name.dropFirst())
        else { return nil }
        guard parentOfSession == nil || parentOfSession == server else { return nil }
        return .tmux(server: server, pane: pane)
    }

    private static var parentOfSession: UInt32? { ProcessFacts.parent(of: "\(getsid(0))").flatMap { UInt32($0) } }

    /// The device of the terminal, such as `pts/3`. Standard output is a pipe here.
    static var terminal: String {
        for descriptor in [STDIN_FILENO, STDERR_FILENO] {
            guard let path = ttyname(descriptor) else { continue }
            let name = String(cString: path)
            return name.hasPrefix("/dev/") ? String(name.dropFirst("/dev/".count)) : name
        }
        return ""
    }
}
