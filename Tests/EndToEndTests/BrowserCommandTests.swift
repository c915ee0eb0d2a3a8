import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// `notifyctl browser` tells browsers of the host, and says which know it.
@Suite(.timeLimit(.minutes(1))) struct BrowserCommandTests {
    private func environment(_ home: TemporaryFolder) -> [String: String] {
        ["HOME": home.path, "PATH": "/usr/bin:/bin"].merging(ChildProcess.sanitizerEnvironment) { $1 }
    }

    private func run(_ home: TemporaryFolder, _ arguments: String...) async throws -> CommandResult {
        try await ChildProcess.run(
            BuiltPrograms.notifyctl, ["browser"] + arguments, environment: environment(home))
    }

    private func check(_ file: String, _ home: TemporaryFolder) async throws -> CommandResult {
        try await ChildProcess.run(
            BuiltPrograms.notifyctl, ["config", "check", file], environment: environment(home))
    }

    @Test func browsersThatHaveRunAreToldOfTheHost() async throws {
        let home = try TemporaryFolder()
        #expect(try await run(home, "install").exit == .code(1))
        try home.folder(".mozilla/firefox")
        try home.folder(".config/chromium/Default")
        let unaware = try await run(home).output.joined(separator: "\n")
        #expect(unaware.contains("firefox does not know") && unaware.contains("notifyctl browser install chromium"))
        // The program beside notifyctl is found.
        #expect(try await run(home, "install").exit == .code(0))
        let known = try await run(home).output
        #expect(
            known.first == "firefox starts \(BuiltPrograms.notifydBrowser), says \(home.path)/.mozilla/"
                + "native-messaging-hosts/org.notifyd.browser.json")
        #expect(known.count == 2)
    }

    @Test func aFirefoxWhoseProfilesAreBesideOtherSettingsIsFound() async throws {
        let home = try TemporaryFolder()
        try home.folder(".config/mozilla/firefox")
        #expect(try await run(home, "install").exit == .code(0))
        #expect(try await run(home).output.first?.hasPrefix("firefox starts ") == true)
    }

    @Test(arguments: [("snap/firefox", "Snap"), (".var/app/org.mozilla.firefox", "Flatpak")])
    func aBrowserInASandboxIsSaidNotToStartTheHost(_ folder: String, _ sandbox: String) async throws {
        let home = try TemporaryFolder()
        try home.folder(folder)
        let words = "firefox has run here only from \(sandbox), where a browser cannot start notifyd-browser. "
        let chosen = try await run(home, "install")
        #expect(chosen.exit == .code(1))
        #expect(chosen.errors.joined().contains(words))
        // Who names it has the file made, and is told all the same.
        let named = try await run(home, "install", "firefox")
        #expect(named.exit == .code(0))
        #expect(named.errors.joined().contains(words))
        #expect(named.errors.joined().contains("org.freedesktop.portal.WebExtensions") == (sandbox == "Snap"))
        #expect(try await run(home).output.contains { $0.hasPrefix(words) })
        try home.folder(".mozilla/firefox")
        let free = try await run(home, "install")
        #expect(free.exit == .code(0) && free.errors.isEmpty)
    }

    @Test func theFolderOfAManifestIsNoBrowserThatHasRun() async throws {
        let home = try TemporaryFolder()
        try home.folder(".mozilla/native-messaging-hosts")
        #expect(try await run(home).output == ["No browser has run here: notifyctl browser install firefox"])
        #expect(try await run(home, "install").exit == .code(1))
    }

    @Test func whatWasInstalledIsRemoved() async throws {
        let home = try TemporaryFolder()
        #expect(try await run(home, "install", "firefox", "brave").exit == .code(0))
        let other = ".config/BraveSoftware/Brave-Browser/NativeMessagingHosts/org.example.json"
        try home.write("{}", to: other)
        // The one of another extension stays.
        let foreign = try home.write(
            "{\"path\": \"/bin/true\"}", to: ".config/vivaldi/NativeMessagingHosts/org.notifyd.browser.json")
        #expect(try await run(home, "uninstall", "firefox").output.map { $0.prefix(8) } == ["Removed "])
        // It may have been there before.
        let folder = home.path + "/.mozilla/native-messaging-hosts"
        #expect(access(folder, F_OK) == 0 && access(folder + "/org.notifyd.browser.json", F_OK) != 0)
        #expect(try await run(home, "uninstall").output.count == 1)
        #expect(try await run(home, "uninstall").output == ["There is nothing to remove."])
        #expect(access(home.path + "/" + other, F_OK) == 0 && access(foreign, F_OK) == 0)
    }

    @Test func aMistakeInTheRulesIsTold() async throws {
        let home = try TemporaryFolder()
        let file = try home.write(
            "[[site]]\naddress = \"ftp://x/\"\ntopic = \"/x\"\n", to: ".config/notifyd/browser.toml")
        let output = try await run(home).output
        #expect(output.contains { $0.hasPrefix("The rules have a mistake: \(file):2:") })
        let check = try await check(file, home)
        #expect(check.code == 78)
        #expect(check.errors.first?.hasPrefix("notifyd-browser: \(file):2:") == true)
    }

    @Test(arguments: ["browser", "desktop", "focus", "mqtt", "ntfy", "unifiedpush"])
    func aFileOfAnotherProgramIsCheckedByIt(_ name: String) async throws {
        let home = try TemporaryFolder()
        let file = try home.write("nonsense = 1\n", to: ".config/notifyd/\(name).toml")
        let check = try await check(file, home)
        #expect(check.code == 78)
        let words = try #require(check.errors.first)
        // The keys of notifyd's own file are others.
        #expect(words.contains("\(file):1:1: ") && !words.contains("defaults"))
    }

    @Test func onAFullDiskWhatIsThereStays() async throws {
        let home = try TemporaryFolder()
        #expect(try await run(home, "install", "--host", "/bin/true", "brave").exit == .code(0))
        let before = try await run(home).output
        let full = try await ChildProcess.run(
            "/bin/sh",
            [
                "-c", "trap '' XFSZ; ulimit -f 0; \"$0\" browser install --host /bin/false brave",
                BuiltPrograms.notifyctl,
            ],
            environment: environment(home))
        #expect(full.code == 77)
        #expect(full.errors.joined().contains("cannot be written: File too large"))
        #expect(try await run(home).output == before)
        let folder = home.path + "/.config/BraveSoftware/Brave-Browser/NativeMessagingHosts"
        #expect(try await ChildProcess.run("/bin/ls", ["-A", folder]).output == ["org.notifyd.browser.json"])
    }

    @Test func aBrowserIsToldOfTheHostThatIsNamed() async throws {
        let home = try TemporaryFolder()
        #expect(try await run(home, "install", "--host", "/bin/true", "brave").exit == .code(0))
        #expect(try await run(home).output.first?.hasPrefix("brave starts /bin/true, says ") == true)
        let missing = try await run(home, "install", "--host", "/nonexistent", "brave")
        #expect(missing.exit == .code(69))
        #expect(missing.errors.joined().contains("/nonexistent is not a program"))
    }
}
