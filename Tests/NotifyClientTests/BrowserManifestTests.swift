import ArgumentParser
import ChildProcesses
import Foundation
import NotifyJSON
import Testing

@testable import notifyctl

/// The extension, the files that tell browsers of its host, and `notifyctl` agree.
struct BrowserManifestTests {
    private func json(_ path: String) throws -> JSON {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        return try JSONParser.parse(Array(Data(contentsOf: root.appending(path: path))))
    }

    @Test func theExtensionHasTheIDThatItsHostLetsIn() async throws {
        let manifest = try json("browser/manifest.json")
        #expect(
            manifest["browser_specific_settings"]?["gecko"]?["id"] == .string(HostManifest.mozillaExtension))
        // https://developer.chrome.com/docs/extensions/reference/manifest/key: the first half of the hash, in letters from a to p.
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
        #expect(try json("debian/native-messaging/mozilla.json") == manifest.json(for: .mozilla))
        #expect(try json("debian/native-messaging/chromium.json") == manifest.json(for: .chromium))
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
        #expect(BrowserCheck(browsers: [("firefox", "/usr/bin/notifyd-browser", true)]).findings.isEmpty)
    }

    @Test func rulesWithoutABrowserAreNoGood() {
        let findings = BrowserCheck(hasRules: true).findings
        #expect(findings.map(\.level) == [.warning])
        #expect(findings[0].advice?.contains("notifyctl browser install") == true)
        #expect(
            BrowserCheck(hasRules: true, browsers: [("firefox", "/usr/bin/notifyd-browser", true)]).findings
                == [.ok("browser", "firefox can start notifyd-browser")])
    }

    @Test func aHostThatIsGoneIsAProblem() {
        let findings = BrowserCheck(browsers: [("brave", "/opt/gone", false)]).findings
        #expect(findings.map(\.level) == [.problem])
        #expect(findings[0].advice?.contains("notifyctl browser install brave") == true)
    }
}
