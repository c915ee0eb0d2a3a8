import ArgumentParser
import ChildProcesses
import Glibc
import NotifyJSON
import UserFiles

struct BrowserInstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Tell your browsers of notifyd-browser.",
        discussion: """
            Writes a small file to the folder where each browser looks for programs that its extensions may start. Without \
            names it does so for every browser that has run here.

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
        let environment = ChildProcess.currentEnvironment
        let folders = BrowserFolders(environment: environment)
        let chosen = browsers.isEmpty ? KnownBrowser.allCases.filter { $0.isUsed(folders) } : browsers
        guard !chosen.isEmpty else {
            let confined = KnownBrowser.allCases.compactMap { $0.confinement(folders) }
            for (state, advice) in confined { Terminal.complain("\(state). \(advice)") }
            if confined.isEmpty {
                Terminal.complain("No browser has run here yet. Name one: notifyctl browser install firefox")
            }
            throw ExitCode.nothing
        }
        let manifest = HostManifest(host: try path(environment))
        let files = try chosen.map { try write(manifest, for: $0, folders) }
        let lines =
            files.map { Terminal.plain("Made \($0).") } + ["Now add the extension to the browser: notifyd-browser(8)"]
        for (state, advice) in chosen.compactMap({ $0.confinement(folders) }) {
            Terminal.complain("\(state). \(advice)")
        }
        output.write(
            .object([("files", .array(files.map(JSON.string)))]), text: lines.joined(separator: "\n"))
    }

    /// Browsers want the whole path.
    private func path(_ environment: [String: String]) throws -> String {
        let name = "notifyd-browser"
        var candidates = [host.map(BaseDirectories.absolute)].compactMap(\.self)
        if host == nil {
            if let own = FileFacts.link(at: "/proc/self/exe"), let slash = own.lastIndex(of: "/") {
                candidates.append(own[...slash] + name)
            }
            candidates += (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
        }
        if let path = candidates.first(where: { $0.hasPrefix("/") && access($0, X_OK) == 0 }) { return path }
        Terminal.complain(
            host.map { "\(Terminal.plain($0)) is no program that can be started." }
                ?? "There is no notifyd-browser beside notifyctl or in $PATH. Install it, or name it with --host.")
        throw ExitCode.notReachable
    }

    private func write(_ manifest: HostManifest, for browser: KnownBrowser, _ folders: BrowserFolders) throws -> String
    {
        let folder = browser.userFolder(folders)
        let file = folder + "/" + HostManifest.file
        makeFolders(folder)
        let text = manifest.json(for: browser.family).text(pretty: true) + "\n"
        do throws(WholeFile.Failure) {
            // The mode is that of files that hold no secret.
            try WholeFile.write(text, to: file, mode: 0o644)
        } catch {
            Terminal.complain("\(Terminal.plain(file)) cannot be written: \(Terminal.plain(error.description)).")
            throw ExitCode.refused
        }
        return file
    }

    private func makeFolders(_ path: String) {
        guard access(path, F_OK) != 0, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        makeFolders(String(path[..<slash]))
        // What could not be made shows when the file is written.
        mkdir(path, 0o700)
    }
}
