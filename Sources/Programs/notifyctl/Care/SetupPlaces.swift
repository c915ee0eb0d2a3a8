import Glibc
import NotifyClient
import UserFiles

/// What “setup” writes, and into which files of the user's.
struct SetupPlaces {
    let home: String
    let browsers: BrowserFolders
    /// The shell that the user types into, if it is one that has a hook.
    let shell: ShellScript?

    private let environment: [String: String]
    /// The path of notifyctl.
    private let program: String
    /// Such as `~/.config`.
    private let configuration: String

    init(environment: [String: String], program: String = Daemon.ownPath ?? "notifyctl") {
        let directories = BaseDirectories { environment[$0] }
        home = directories.home
        configuration = String(directories.configuration.dropLast("/notifyd".count))
        browsers = BrowserFolders(environment: environment)
        let login = environment["SHELL"] ?? getpwuid(getuid())?.pointee.pw_shell.map { String(cString: $0) }
        shell = login?.split(separator: "/").last.flatMap { ShellScript(rawValue: String($0)) }
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

    /// Whether something may not find the programs.
    ///
    /// - Parameter manager: the `PATH` of the service manager; `nil` without one.
    func needsPath(manager: String?) -> Bool {
        guard !["/usr/local/bin", "/usr/bin", "/bin"].contains(folder) else { return false }
        return [environment["PATH"] ?? "", manager ?? folder].contains { path in
            !path.split(separator: ":").contains { $0 == folder }
        }
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
        let own = shell.map { [(path: file(of: $0), shell: $0)] } ?? []
        return lines(of: part, shells: own, tmux: [tmuxFile])
    }

    /// The lines that there may be of a part, whatever the shell was when they were written.
    func possibleLines(of part: SetupPart) -> [SetupLine] { lines(of: part, shells: shellFiles, tmux: tmuxFiles) }

    private func lines(
        of part: SetupPart, shells: [(path: String, shell: ShellScript)], tmux: [String]
    ) -> [SetupLine] {
        switch part {
        case .path:
            [line(part, environmentFile, "PATH=\(folder):$PATH", folder)]
                + shells.map { line(part, $0.path, pathLine(in: $0.shell), $0.shell.word(folder)) }
        case .shell:
            shells.map { path, shell in
                let text = shell.guardedLine(program: program)
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
        SetupLine(part: part.rawValue, home: home, path: path, text: text, program: program, words: words)
    }

    private func pathLine(in shell: ShellScript) -> String {
        let folder = shell.word(folder)
        return shell == .fish
            ? "contains -- \(folder) $PATH; or set -gx PATH \(folder) $PATH"
            : "case :$PATH: in *:\(folder):*) ;; *) export PATH=\(folder):$PATH ;; esac"
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

    private var shellFiles: [(path: String, shell: ShellScript)] {
        let files = ShellScript.allCases.map { (path: file(of: $0), shell: $0) }
        return files + [(home + "/.zshrc", .zsh)].filter { other in !files.contains { $0.path == other.path } }
    }

    /// tmux reads both.
    private var tmuxFiles: [String] { [home + "/.tmux.conf", configuration + "/tmux/tmux.conf"] }
    private var tmuxFile: String { tmuxFiles.first { access($0, F_OK) == 0 } ?? tmuxFiles[0] }
}
