import ArgumentParser
import ChildProcesses
import NotifyJSON
import TOMLTables
import TabRules
import UserFiles

struct BrowserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browser",
        abstract: "Show which browsers know notifyd-browser, and tell them of it.",
        discussion: """
            With notifyd’s extension, the tab that you look at is a screen. The extension needs the program notifyd-browser, \
            and a browser starts only programs that it was told of. notifyd-browser(8) has the rest.

            Examples:
              notifyctl browser
              notifyctl browser install
              notifyctl browser install firefox brave
              notifyctl browser uninstall
            """,
        subcommands: [BrowserInstallCommand.self, BrowserUninstallCommand.self])

    @OptionGroup var output: OutputOptions

    func run() {
        let folders = BrowserFolders(environment: ChildProcess.currentEnvironment)
        let known = KnownBrowser.allCases.compactMap { browser in
            browser.manifest(folders).map { (browser, $0.file, $0.manifest) }
        }
        let unaware = KnownBrowser.allCases.filter { browser in
            browser.isUsed(folders) && !known.contains { $0.0 == browser }
        }
        var lines = known.map { browser, file, manifest in
            Terminal.plain(
                "\(browser.rawValue) starts \(manifest.host)"
                    + (manifest.isUsable ? ", says \(file)" : ", which is not there, says \(file)"))
        }
        lines += unaware.map {
            "\($0.rawValue) does not know notifyd-browser: notifyctl browser install \($0.rawValue)"
        }
        lines += KnownBrowser.allCases.compactMap { $0.confinement(folders) }.map { "\($0.state). \($0.advice)" }
        if lines.isEmpty { lines = ["No browser has run here: notifyctl browser install firefox"] }
        var mistakes: [String] = []
        if case .failure(let error) = TabRules.inForce(BaseDirectories().configuration) { mistakes = error.lines }
        lines += mistakes.map { "The rules have a mistake: \(Terminal.plain($0))" }
        output.write(
            .object([
                (
                    "browsers",
                    .array(
                        known.map { browser, file, manifest in
                            .object([
                                ("browser", .string(browser.rawValue)), ("file", .string(file)),
                                ("host", .string(manifest.host)), ("usable", .boolean(manifest.isUsable)),
                            ])
                        })
                ), ("unaware", .array(unaware.map { .string($0.rawValue) })),
                ("mistakes", .array(mistakes.map(JSON.string))),
            ]), text: lines.joined(separator: "\n"))
    }
}
