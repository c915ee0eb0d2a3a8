import ArgumentParser
import Foundation
import NotifyClient
import NotifyTestSupport
import NotifyText
import TOMLTables
import Testing
import Watching

@testable import notifyctl

/// The extension, the files that tell browsers of its host, and `notifyctl` agree.
struct BrowserManifestTests {
    private func json(_ path: String) throws -> JSON {
        try JSONParser.parse(Array(Project.text(path).utf8))
    }

    @Test func theExtensionHasTheIDThatItsHostLetsIn() async throws {
        let manifest = try json("browser/manifest.json")
        #expect(
            manifest["browser_specific_settings"]?["gecko"]?["id"] == .string(HostManifest.mozillaExtension))
        // https://developer.chrome.com/docs/extensions/reference/manifest/key: the first half of the hash, in letters
        // from a to p.
        let key = try #require(manifest["key"]?.string)
        let hash = try ChildProcess(
            "/bin/sh", ["-c", "echo \"$0\" | base64 -d | sha256sum | cut -c 1-32 | tr 0-9a-f a-p", key],
            environment: ["PATH": "/usr/bin:/bin"], capturing: [1])
        #expect(await hash.allLines(of: 1) == [HostManifest.chromiumExtension])
    }

    @Test func theExtensionHasTheVersionOfTheProject() throws {
        #expect(try json("browser/manifest.json")["version"] == .string(NotifyctlCommand.configuration.version))
    }

    @Test func thePackageTellsBrowsersOfTheHost() throws {
        let manifest = HostManifest(host: "/usr/bin/notifyd-browser")
        #expect(try json("debian/native-messaging/mozilla/org.notifyd.browser.json") == manifest.json(for: .mozilla))
        #expect(try json("debian/native-messaging/chromium/org.notifyd.browser.json") == manifest.json(for: .chromium))
    }

    @Test func browsersAreWhereTheirSettingsAre() {
        let folders = BrowserFolders(environment: ["HOME": "/home/mina"])
        #expect(KnownBrowser.firefox.userFolder(folders) == "/home/mina/.mozilla/native-messaging-hosts")
        #expect(KnownBrowser.chromium.userFolder(folders) == "/home/mina/.config/chromium/NativeMessagingHosts")
        let moved = BrowserFolders(environment: ["HOME": "/home/mina", "XDG_CONFIG_HOME": "/etc/mina"])
        #expect(KnownBrowser.brave.userFolder(moved) == "/etc/mina/BraveSoftware/Brave-Browser/NativeMessagingHosts")
        #expect(KnownBrowser.firefox.userFolder(moved) == "/home/mina/.mozilla/native-messaging-hosts")
    }

    // MARK: The doctor

    @Test func withoutRulesTheDoctorSaysNothing() {
        #expect(BrowserCheck().findings.isEmpty)
        #expect(BrowserCheck(browsers: [("firefox", "f.json", "/usr/bin/notifyd-browser", true)]).findings.isEmpty)
    }

    @Test func rulesWithoutABrowserAreNoGood() {
        let findings = BrowserCheck(rules: .success(TabRules())).findings
        #expect(findings.map(\.level) == [.warning])
        #expect(findings[0].advice?.contains("notifyctl browser install") == true)
    }

    @Test func itSaysWhichBrowsersAreConnected() {
        var check = BrowserCheck(
            rules: .success(TabRules()), browsers: [("firefox", "f.json", "/usr/bin/notifyd-browser", true)],
            unaware: ["brave"])
        #expect(check.findings.map(\.level) == [.ok])
        let words = "firefox can start notifyd-browser; brave does not know it (notifyctl browser install); "
        #expect(check.findings[0].state.hasPrefix(words + "no browser is connected now"))
        check.connected = ["firefox-esr"]
        #expect(check.findings[0].state == words + "connected now: firefox-esr")
    }

    @Test func aBrowserThatHasRunInASandboxAloneIsNotCalledGood() {
        var check = BrowserCheck(
            rules: .success(TabRules()), browsers: [("firefox", "f.json", "/usr/bin/notifyd-browser", true)])
        check.confined = [("firefox", "firefox has run here only from Snap", "Use another.")]
        check.hasFree = false
        #expect(check.findings == [.warning("browser", "firefox has run here only from Snap", "Use another.")])
        // It is let out if it is connected, and others may be free.
        check.connected = ["firefox"]
        #expect(check.findings.map(\.level) == [.ok])
        check = BrowserCheck(
            rules: check.rules, browsers: check.browsers + [("brave", "b.json", "/usr/bin/notifyd-browser", true)])
        check.confined = [("firefox", "firefox has run here only from Snap", "Use another.")]
        #expect(
            check.findings.first?.state.hasPrefix(
                "brave can start notifyd-browser; firefox has run here only from Snap; ") == true)
    }

    @Test func aMistakeInTheRulesIsAProblem() {
        let error = ConfigurationError(file: "browser.toml", line: 3, column: 1, reason: "no")
        let findings = BrowserCheck(rules: .failure(error)).findings
        #expect(findings.map(\.state) == ["browser.toml:3:1: no"] && findings[0].level == .problem)
    }

    @Test func aHostThatIsGoneIsAProblem() {
        let findings = BrowserCheck(browsers: [("brave", "b.json", "/opt/gone", false)]).findings
        #expect(findings.map(\.level) == [.problem])
        #expect(findings[0].advice?.contains("notifyctl browser install brave") == true)
    }
}
