import Foundation
import Routing
import Testing

@testable import NotifyDaemon

/// Routes that packages bring: what is read, in which order, and what such a file may say.
struct PackagedConfigurationTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "packaged-\(UUID().uuidString)").path

    /// `a` and `b` are data directories, `etc` and `user` have the configurations.
    private func found(_ files: [String]) throws -> ConfigurationFiles.Found {
        for file in files {
            let path = "\(folder)/\(file)"
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try #require(FileManager.default.createFile(atPath: path, contents: nil))
        }
        let directories = BaseDirectories { name in
            ["XDG_DATA_DIRS": "\(folder)/a/:relative:\(folder)/b:\(folder)/a", "XDG_CONFIG_HOME": "\(folder)/user"][
                name]
        }
        return ConfigurationFiles.find(directories, administrator: "\(folder)/etc")
    }

    private func names(_ found: ConfigurationFiles.Found) -> [String] {
        found.files.map { $0.path.replacing(folder + "/", with: "") + ($0.origin == .package ? " (package)" : "") }
    }

    @Test func onlyAFileOfAPackageWithAMistakeIsLeftOut() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let found = try found([
            "a/notifyd/config.d/1.toml", "a/notifyd/config.d/2.toml", "a/notifyd/config.d/3.toml",
            "user/notifyd/config.toml",
        ])
        func write(_ text: String, to file: String) throws {
            try text.write(toFile: "\(folder)/\(file)", atomically: false, encoding: .utf8)
        }
        try write("[[route]]\ntopic = \"/1\"\n", to: "a/notifyd/config.d/1.toml")
        try write("[[route]]\ntopic = \"2\"\n[nothing]\n", to: "a/notifyd/config.d/2.toml")
        try write("[[route]\n", to: "a/notifyd/config.d/3.toml")
        let configuration = try ConfigurationFiles.load(found)
        #expect(configuration.routes.routes.contains { $0.name == "/1" })
        #expect(configuration.files.map { $0.replacing("\(folder)/", with: "") }.contains("a/notifyd/config.d/1.toml"))
        #expect(!configuration.files.contains { $0.hasSuffix("2.toml") || $0.hasSuffix("3.toml") })
        #expect(
            Set(configuration.leftOut.map(\.file)) == Set(["2", "3"].map { "\(folder)/a/notifyd/config.d/\($0).toml" }))
        // The user's own files have no mistakes.
        try write("[[route]]\ntopic = \"x\"\n", to: "user/notifyd/config.toml")
        let error = #expect(throws: ConfigurationError.self) { try ConfigurationFiles.load(found) }
        #expect(error?.mistakes.allSatisfy { $0.file == "\(folder)/user/notifyd/config.toml" } == true)
    }

    @Test func filesOfPackagesComeFirstInTheOrderOfTheirNames() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let found = try found([
            "a/notifyd/config.d/20-mail.toml", "b/notifyd/config.d/10-chat.toml", "b/notifyd/config.d/.hidden.toml",
            "b/notifyd/config.d/notes", "b/notifyd/config.toml", "etc/config.d/30-x.toml",
            "user/notifyd/config.d/05-y.toml",
        ])
        #expect(
            names(found) == [
                "b/notifyd/config.d/10-chat.toml (package)", "a/notifyd/config.d/20-mail.toml (package)",
                "etc/config.toml", "etc/config.d/30-x.toml", "user/notifyd/config.toml",
                "user/notifyd/config.d/05-y.toml",
            ])
        #expect(found.replaced.isEmpty)
    }

    @Test func aFileOfTheSameNameReplacesOneOfAPackageAndNoOther() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let found = try found([
            "a/notifyd/config.d/1.toml", "b/notifyd/config.d/1.toml", "a/notifyd/config.d/2.toml",
            "a/notifyd/config.d/3.toml", "etc/config.d/2.toml", "etc/config.d/4.toml",
            "user/notifyd/config.d/3.toml", "user/notifyd/config.d/4.toml",
        ])
        #expect(
            names(found) == [
                "a/notifyd/config.d/1.toml (package)", "etc/config.toml", "etc/config.d/2.toml",
                "etc/config.d/4.toml", "user/notifyd/config.toml", "user/notifyd/config.d/3.toml",
                "user/notifyd/config.d/4.toml",
            ])
        let replaced = found.replaced.map {
            "\($0.file) \($0.replacement)".replacing("\(folder)/", with: "").replacing("notifyd/config.d/", with: "")
        }
        #expect(replaced == ["a/2.toml etc/config.d/2.toml", "a/3.toml user/3.toml", "b/1.toml a/1.toml"])
    }

    @Test func withoutTheVariableTheUsualDirectoriesCount() {
        let usual = ["/usr/local/share/notifyd", "/usr/share/notifyd"]
        for environment in [[:], ["XDG_DATA_DIRS": ""]] { #expect(BaseDirectories { environment[$0] }.data == usual) }
    }

    // MARK: What it may say

    private func read(_ text: String) throws(ConfigurationError) -> Configuration {
        var reader = ConfigurationReader()
        reader.add(file: "app.toml", text: text, of: .package)
        return try reader.finish()
    }

    @Test func aPackageSaysHowItsEventsLook() throws {
        let configuration = try read("[[route]]\ntopic = \"/app/{id}\"\ntitle = \"{{title}}!\"\nttl = \"1h\"\n")
        #expect(configuration.routes.route(for: try Topic("/app/1")).lifetime == .seconds(3600))
        #expect(configuration.files == ["app.toml"])
    }

    @Test func theAdministratorAndTheUserOverrideIt() throws {
        var reader = ConfigurationReader()
        reader.add(file: "app.toml", text: "[[route]]\ntopic = \"/app\"\nbanner = false\n", of: .package)
        reader.add(file: "user.toml", text: "[[route]]\ntopic = \"/app\"\n[defaults]\nwindow = \"1s\"\n")
        let route = try reader.finish().routes.route(for: try Topic("/app"))
        #expect(route.banner)
        #expect(route.window == .seconds(1))
    }

    @Test(arguments: [
        "[defaults]\nwindow = \"1s\"\n", "[banner]\n", "[screens]\n", "[recovery]\n", "[history]\ndays = 1\n",
        "[log]\n", "[[quiet]]\n",
        "[[policy]]\nallow = [\"publish\"]\n",
    ]) func whatConcernsOthersIsRefusedWithItsPlaceAndTheReason(_ text: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try read("# An application.\n\n" + text) }
        #expect(error?.count == 1)
        let mistake = error?.mistakes.first
        #expect(mistake?.file == "app.toml")
        #expect(mistake?.line == 3)
        #expect(mistake?.reason.contains("applies to the events of all programs") == true)
    }

    @Test func whatBreaksThroughAPauseIsForTheUserToSay() throws {
        let text = "[[route]]\ntopic = \"/app\"\nbreak_through = true\n"
        let error = #expect(throws: ConfigurationError.self) { try read(text) }
        #expect(error?.mistakes.map(\.line) == [3])
        #expect(error?.mistakes.first?.reason.hasPrefix("'break_through' has no place in a package's file") == true)
        var reader = ConfigurationReader()
        reader.add(file: "user.toml", text: text)
        #expect(try reader.finish().routes.route(for: try Topic("/app")).breaksThrough)
    }

    @Test func anUnknownKeyIsToldTheOneThatIsAllowed() throws {
        let error = #expect(throws: ConfigurationError.self) { try read("windows = 1\n[[polcy]]\n[log]\n") }
        #expect(error?.count == 3)
        #expect(
            error?.mistakes.map(\.reason).filter { $0.hasSuffix("the keys are route") }.count == 2,
            "\(error.map { "\($0)" } ?? "")")
    }
}
