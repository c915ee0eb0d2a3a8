import ArgumentParser
import Glibc
import NotifyClient
import NotifyText
import TOMLTables
import UserFiles

struct BrowserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browser", abstract: "Show which browsers know notifyd-browser, and tell them of it.",
        discussion: """
            With notifyd’s extension, the tab that you look at is a screen. The extension needs the program \
            notifyd-browser, and a browser starts only programs that it was told about. notifyd-browser(8) has the rest.

            Examples:
              notifyctl browser
              notifyctl browser install
              notifyctl browser install firefox brave
              notifyctl browser uninstall
            """,
        subcommands: [BrowserInstallCommand.self, BrowserUninstallCommand.self])

    @OptionGroup var output: OutputOptions

    func run() {
        let check = BrowserCheck(environment: ChildProcess.currentEnvironment)
        var lines = check.browsers.map { name, file, host, isUsable in
            Terminal.plain("\(name) starts \(host)\(isUsable ? "" : ", which is not there"), says \(file)")
        }
        lines += check.unaware.map { "\($0) does not know notifyd-browser: notifyctl browser install \($0)" }
        lines += check.confined.map { "\($0.state). \($0.advice)" }
        if lines.isEmpty { lines = ["No browser has run here: notifyctl browser install firefox"] }
        var mistakes: [String] = []
        if case .failure(let error) = check.rules { mistakes = error.lines }
        lines += mistakes.map { "The rules have a mistake: \(Terminal.plain($0))" }
        output.write(
            [
                "browsers": check.browsers.map { name, file, host, isUsable -> JSON in
                    ["browser": name, "file": file, "host": host, "usable": isUsable]
                },
                "unaware": check.unaware, "mistakes": mistakes,
            ], text: lines.joined(separator: "\n"))
    }
}

struct BrowserInstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install", abstract: "Tell your browsers of notifyd-browser.",
        discussion: """
            Writes a small file to the folder where each browser looks for programs that its extensions may start. \
            Without names it does so for every browser that has run here.

            Examples:
              notifyctl browser install
              notifyctl browser install chromium
            """)

    @Argument(help: "firefox, librewolf, chromium, chrome, brave, edge or vivaldi; all that have run here by default.")
    var browsers: [KnownBrowser] = []
    @Option(help: "The program, instead of the notifyd-browser beside notifyctl or in $PATH.", completion: .file())
    var host: String?

    @OptionGroup var output: OutputOptions

    func run() throws {
        let folders = BrowserFolders(environment: ChildProcess.currentEnvironment)
        let chosen = browsers.isEmpty ? KnownBrowser.allCases.filter { $0.isUsed(folders) } : browsers
        guard !chosen.isEmpty else {
            let confined = KnownBrowser.allCases.compactMap { browser in
                browser.confinement(folders).map { "\($0.state). \($0.advice)" }
            }
            let none = "No browser has run here yet. Name one: notifyctl browser install firefox"
            throw Complaint(.nothing, lines: confined.isEmpty ? [none] : confined)
        }
        let manifest = HostManifest(host: try path())
        let files = try chosen.map { try write(manifest, for: $0, folders) }
        let lines =
            files.map { Terminal.plain("Made \($0).") } + ["Now add the extension to the browser: notifyd-browser(8)"]
        for (state, advice) in chosen.compactMap({ $0.confinement(folders) }) {
            Terminal.complain("\(state). \(advice)")
        }
        output.write(["files": files], text: lines.joined(separator: "\n"))
    }

    /// The whole path, as browsers need it.
    private func path() throws -> String {
        guard let host else {
            return BaseDirectories.absolute(path: try Daemon.locate("notifyd-browser", option: "--host"))
        }
        let path = BaseDirectories.absolute(path: host)
        if access(path, X_OK) == 0 { return path }
        throw Complaint(.notReachable, "\(host) is not a program that can be started.")
    }

    /// - Returns: the path of the file.
    private func write(_ manifest: HostManifest, for browser: KnownBrowser, _ folders: BrowserFolders) throws -> String
    {
        let file = browser.userFolder(folders) + "/" + HostManifest.file
        // The mode is that of files that hold no secret.
        let text = manifest.json(for: browser.family).text(pretty: true) + "\n"
        try WholeFile.replace(file, with: Array(text.utf8), mode: 0o644)
        return file
    }
}

struct BrowserUninstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall", abstract: "Remove what “browser install” has written.",
        discussion: """
            The extension itself is removed in the browser. What a package has told all users’ \
            browsers goes with the package.

            Examples:
              notifyctl browser uninstall
              notifyctl browser uninstall chromium
            """)

    @Argument(help: "firefox, librewolf, chromium, chrome, brave, edge or vivaldi; all by default.")
    var browsers: [KnownBrowser] = []

    @OptionGroup var output: OutputOptions

    func run() throws {
        let folders = BrowserFolders(environment: ChildProcess.currentEnvironment)
        var removed: [String] = []
        for browser in browsers.isEmpty ? KnownBrowser.allCases : browsers {
            let file = browser.userFolder(folders) + "/" + HostManifest.file
            // One of another extension is left alone.
            guard HostManifest(at: file, for: browser.family) != nil else { continue }
            guard unlink(file) == 0 else {
                throw Complaint(.refused, "\(file) cannot be removed: \(String(cString: strerror(errno))).")
            }
            removed.append(file)
        }
        let lines = removed.map { Terminal.plain("Removed \($0).") }
        output.write(
            ["files": removed],
            text: lines.isEmpty ? "There is nothing to remove." : lines.joined(separator: "\n"))
    }
}
