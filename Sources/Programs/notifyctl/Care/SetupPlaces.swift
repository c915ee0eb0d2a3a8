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

    /// The lines of a part as they should be.
    func lines(of part: SetupPart) -> [SetupLine] {
        switch part {
        case .path:
            [line(part, environmentFile, "PATH=\(folder):$PATH")]
                + (shell.map { [line(part, file(of: $0), pathLine(in: $0))] } ?? [])
        case .shell:
            shell.map { shell in
                let text = shell.guardedLine(program: program)
                return [line(part, file(of: shell), text, words: "shell init \(shell.rawValue)")]
            } ?? []
        case .tmux: [line(part, tmuxFile, tmuxText, words: "notifyd-focus")]
        case .focus, .desktop, .browser, .link: []
        }
    }

    /// The lines that there may be of a part, whatever the shell was when they were written.
    func possibleLines(of part: SetupPart) -> [SetupLine] {
        let files =
            switch part {
            case .path: [environmentFile] + shellFiles
            case .shell: shellFiles
            case .tmux: tmuxFiles
            case .focus, .desktop, .browser, .link: [String]()
            }
        return files.map { line(part, $0, "") }
    }

    private func line(_ part: SetupPart, _ path: String, _ text: String, words: String? = nil) -> SetupLine {
        SetupLine(part: part.rawValue, home: home, path: path, text: text, words: words)
    }

    private func pathLine(in shell: ShellScript) -> String {
        let folder = shell.word(folder)
        return shell == .fish
            ? "contains -- \(folder) $PATH; or set -gx PATH \(folder) $PATH"
            : "case :$PATH: in *:\(folder):*) ;; *) export PATH=\(folder):$PATH ;; esac"
    }

    private var tmuxText: String {
        let focus = ShellScript.bash.word(folder + "/notifyd-focus")
        return ShellScript.tmuxLine(command: "[ ! -x \(focus) ] || exec \(focus) --tmux")
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

    private var shellFiles: [String] {
        let files = ShellScript.allCases.map(file)
        return files + [home + "/.zshrc"].filter { !files.contains($0) }
    }

    /// tmux reads both.
    private var tmuxFiles: [String] { [home + "/.tmux.conf", configuration + "/tmux/tmux.conf"] }
    private var tmuxFile: String { tmuxFiles.first { access($0, F_OK) == 0 } ?? tmuxFiles[0] }
}
