import ArgumentParser
import ChildProcesses
import Glibc
import NotifyJSON

struct BrowserUninstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall",
        abstract: "Remove what “browser install” has written.",
        discussion: """
            The extension itself is removed in the browser. What a package has told all users’ browsers goes with the package.

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
            let folder = browser.userFolder(folders)
            let file = folder + "/" + HostManifest.file
            // One of another extension is left alone.
            guard HostManifest(at: file, for: browser.family) != nil else { continue }
            guard unlink(file) == 0 else {
                let reason = String(cString: strerror(errno))
                Terminal.complain("\(Terminal.plain(file)) cannot be removed: \(reason).")
                throw ExitCode.refused
            }
            // Other programs may have files there.
            rmdir(folder)
            removed.append(file)
        }
        let lines = removed.map { Terminal.plain("Removed \($0).") }
        output.write(
            .object([("files", .array(removed.map(JSON.string)))]),
            text: lines.isEmpty ? "There is nothing to remove." : lines.joined(separator: "\n"))
    }
}
