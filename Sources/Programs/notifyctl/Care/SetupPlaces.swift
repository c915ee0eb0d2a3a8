import Glibc
import NotifyClient
import UserFiles

/// What “setup” writes, and into which files of the user's.
struct SetupPlaces {
    let home: String
    let browsers: BrowserFolders
    /// The path of the shell that the user types into.
    let login: String
    /// The shell that the user types into, if it is one that has a hook.
    let shell: ShellScript?

    private let environment: [String: String]
    /// The path of notifyctl.
    private let program: String
    private var configuration: String { browsers.configuration }

    init(environment: [String: String], program: String = Daemon.ownPath ?? "notifyctl") {
        home = BaseDirectories { environment[$0] }.home
        browsers = BrowserFolders(environment: environment)
        login = Self.login(environment)
        shell = login.split(separator: "/").last.flatMap { ShellScript(rawValue: String($0)) }
        self.environment = environment
        self.program = program
    }

    /// Where the programs are.
    var folder: String { String(program[..<(program.lastIndex(of: "/") ?? program.startIndex)]) }

    /// A path for people.
    func shown(_ path: String) -> String { path.hasPrefix(home + "/") ? "~" + path.dropFirst(home.count) : path }

    /// Whether there is a program in `PATH`.
    func has(_ name: String) -> Bool {
        (environment["PATH"] ?? "").split(separator: ":").contains { access("\($0)/\(name)", X_OK) == 0 }
    }

    /// Whether a program is beside notifyctl.
    func hasOwn(_ name: String) -> Bool { access("\(folder)/\(name)", X_OK) == 0 }

    /// Whether every program finds those beside notifyctl. That some `PATH` of now has their folder says nothing of
    /// the next login: a line of “setup”, or a file that is gone by then, may have put it there.
    var isInEveryPath: Bool { ["/usr/local/bin", "/usr/bin", "/bin"].contains(folder) }

    /// The path of the shell that a user types into.
    static func login(_ environment: [String: String]) -> String {
        if let shell = environment["SHELL"], !shell.isEmpty { return shell }
        return getpwuid(getuid())?.pointee.pw_shell.map { String(cString: $0) } ?? "/bin/sh"
    }

    // MARK: Lines

    /// Why the lines of a part cannot have the path of this program; `nil` if they can.
    func obstacle(to part: SetupPart) -> String? {
        guard !possibleLines(of: part).isEmpty else { return nil }
        if program.utf8.contains(UInt8(ascii: "\n")) { return "the path of notifyctl has a line break in it" }
        // environment.d(5) and PATH would read these in their own way.
        guard part == .path, let character = folder.first(where: { #":\"'$`"#.contains($0) }) else { return nil }
        return "the folder of notifyctl has a ‘\(character)’ in its name"
    }

    /// The lines of a part as they should be.
    func lines(of part: SetupPart) -> [SetupLine] {
        var own = shell.map { [(path: file(of: $0), shell: $0)] } ?? []
        if shell == .bash, !loginReadsFile { own.append((loginFile, .bash)) }
        return lines(of: part, shells: own, tmux: [tmuxFile])
    }

    /// The lines that there may be of a part, whatever the shell was when they were written.
    func possibleLines(of part: SetupPart) -> [SetupLine] {
        lines(of: part, shells: shellFiles + loginFiles.map { ($0, .bash) }, tmux: tmuxFiles)
    }

    private func lines(
        of part: SetupPart, shells: [(path: String, shell: ShellScript)], tmux: [String]
    ) -> [SetupLine] {
        switch part {
        case .path:
            [line(part, environmentFile, "PATH=\(folder):$PATH", folder)]
                + shells.map { path, shell in
                    let text = pathLine(in: shell, isForLogin: loginFiles.contains(path))
                    return line(part, path, text, shell.word(folder))
                }
        case .shell:
            shells.map { path, shell in
                // Other shells read it, too.
                let condition = loginFiles.contains(path) ? #"[ -z "$BASH_VERSION" ] || "# : ""
                let text = condition + shell.guardedLine(program: program)
                return line(part, path, text, shell.word(program), words: "shell init \(shell.rawValue)")
            }
        case .tmux:
            tmux.map { line(part, $0, tmuxText, ShellScript.tmuxQuoted(focusWord), words: "notifyd-focus") }
        case .focus, .desktop, .browser, .link: []
        }
    }

    private func line(
        _ part: SetupPart, _ path: String, _ text: String, _ program: String, words: String? = nil
    ) -> SetupLine {
        SetupLine(part: part.rawValue, path: path, text: text, program: program, words: words)
    }

    private func pathLine(in shell: ShellScript, isForLogin: Bool) -> String {
        let folder = shell.word(folder)
        if shell == .fish { return "contains -- \(folder) $PATH; or set -gx PATH \(folder) $PATH" }
        // Some shells split what follows export.
        let path = isForLogin ? #""$PATH""# : "$PATH"
        return "case :$PATH: in *:\(folder):*) ;; *) export PATH=\(folder):\(path) ;; esac"
    }

    private var focusWord: String { ShellScript.bash.word(folder + "/notifyd-focus") }

    private var tmuxText: String {
        ShellScript.tmuxLine(command: "[ ! -x \(focusWord) ] || exec \(focusWord) --tmux")
    }

    /// Whether a program is that of this folder, and not of another notifyd.
    func isOwn(_ path: String) -> Bool {
        FileFacts.isSame(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), folder)
    }

    /// Whether a unit is enabled, as far as files tell.
    func isEnabled(_ unit: String) -> Bool {
        let units = configuration + "/systemd/user"
        return FileFacts.names(in: units).contains {
            $0.hasSuffix(".wants") && FileFacts.link(at: "\(units)/\($0)/\(unit)") != nil
        }
    }

    // MARK: Files

    private var environmentFile: String { configuration + SetupLine.environmentFile }

    private func file(of shell: ShellScript) -> String {
        switch shell {
        case .bash: home + "/.bashrc"
        case .zsh: (environment["ZDOTDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home) + "/.zshrc"
        case .fish: configuration + "/fish/conf.d/notifyd.fish"
        }
    }

    /// Those that bash may read where one logs in, as in a pane of tmux; it reads the first that is there.
    private var loginFiles: [String] { [".bash_profile", ".bash_login", ".profile"].map { "\(home)/\($0)" } }
    private var loginFile: String { loginFiles.first { access($0, R_OK) == 0 } ?? "\(home)/.profile" }

    /// Whether the file for logins reads `~/.bashrc`, as most do.
    private var loginReadsFile: Bool {
        (FileFacts.text(of: loginFile) ?? "").split(separator: "\n").contains { line in
            line.contains("bashrc") && line.first { $0 != " " && $0 != "\t" } != "#"
        }
    }

    private var shellFiles: [(path: String, shell: ShellScript)] {
        let files = ShellScript.allCases.map { (path: file(of: $0), shell: $0) }
        return files + [(home + "/.zshrc", .zsh)].filter { other in !files.contains { $0.path == other.path } }
    }

    /// tmux reads both.
    private var tmuxFiles: [String] { [home + "/.tmux.conf", configuration + "/tmux/tmux.conf"] }
    private var tmuxFile: String { tmuxFiles.first { access($0, F_OK) == 0 } ?? tmuxFiles[0] }
}
