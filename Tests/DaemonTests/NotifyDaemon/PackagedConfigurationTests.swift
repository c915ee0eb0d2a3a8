import Foundation
import Routing
import TOMLTables
import Testing
import UserFiles

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

    // MARK: Limits

    /// Loads files of packages, named by their numbers, and the user's, which has a route.
    private func load(_ packages: [String], user: String = "[[route]]\ntopic = \"/own\"\n") throws -> Configuration {
        let names = packages.indices.map { "\(1000 + $0).toml" }
        let found = try found(names.map { "a/notifyd/config.d/\($0)" } + ["user/notifyd/config.toml"])
        for (name, text) in zip(names, packages) {
            try text.write(
                toFile: "\(folder)/a/notifyd/config.d/\(name)", atomically: false, encoding: .utf8)
        }
        try user.write(toFile: "\(folder)/user/notifyd/config.toml", atomically: false, encoding: .utf8)
        return try ConfigurationFiles.load(found)
    }

    private func names(_ configuration: Configuration) -> [String] {
        configuration.leftOut.map { ($0.file as NSString).lastPathComponent }
    }

    private static func routes(_ numbers: Range<Int>, _ more: String = "") -> String {
        numbers.map { "[[route]]\ntopic = \"/n/\($0)\"\n\(more)" }.joined()
    }

    @Test func filesOfPackagesLeaveRoomForTheUsersFile() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let configuration = try load((0..<256).map { Self.routes($0..<$0 + 1) })
        #expect(configuration.routes.routes.contains { $0.name == "/own" })
        #expect(configuration.files.count == 256)
        #expect(names(configuration) == ["1255.toml"])
        #expect(configuration.leftOut.first?.reason.contains("at most 256, with those of the administrator") == true)
    }

    @Test func thousandsOfFilesOfPackagesAreToldInShort() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let configuration = try load((0..<1000).map { _ in "" })
        #expect(configuration.files.count == 256)
        #expect(configuration.leftOut.count == 256)
        #expect(configuration.leftOut.last?.reason.hasSuffix("; 489 more are too many") == true)
    }

    @Test func bytesOfPackagesLeaveRoomForTheUsersFile() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let comments = String(repeating: "# abcdefg\n", count: 104_857)
        let configuration = try load(
            [comments, comments, comments, comments, "[[route]]\ntopic = \"/small\"\n"],
            user: "[[route]]\ntopic = \"/own\"\n" + String(repeating: "# abcdefg\n", count: 100))
        #expect(configuration.routes.routes.contains { $0.name == "/own" })
        #expect(configuration.routes.routes.contains { $0.name == "/small" })
        #expect(names(configuration) == ["1003.toml"])
    }

    private let builtIn = BuiltInRoutes.text.split(separator: "\n").count { $0.hasPrefix("[[route]]") }

    @Test func routesOfPackagesLeaveRoomForTheUsersFile() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // A package's route that the user's replaces counts once.
        let configuration = try load(
            [Self.routes(0..<997), Self.routes(997..<1995), Self.routes(997..<998)],
            user: Self.routes(0..<1) + "[[route]]\ntopic = \"/own\"\n")
        #expect(configuration.routes.routes.contains { $0.name == "/own" })
        #expect(configuration.routes.routes.count == builtIn + 997 + 1 + 1)
        #expect(names(configuration) == ["1001.toml"])
        #expect(configuration.leftOut.first?.line == 2 * (2000 - builtIn - 997) - 1)
        #expect(configuration.leftOut.first?.reason.hasSuffix("with those of the other files") == true)
    }

    @Test func tagsOfPackagesLeaveRoomForTheUsersFile() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let body = "body = \"\(String(repeating: "{{topic}}", count: 200))\"\n"
        let configuration = try load(
            [Self.routes(0..<30, body), Self.routes(30..<60, body)], user: Self.routes(60..<70, body))
        #expect(configuration.routes.routes.count == builtIn + 30 + 10)
        #expect(names(configuration) == ["1001.toml"])
    }

    @Test func whatIsTooMuchInTheUsersFilesIsTheUsersMistake() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let error = #expect(throws: ConfigurationError.self) {
            try load([Self.routes(0..<1), "["], user: Self.routes(0..<1996))
        }
        #expect(error?.mistakes.map(\.file) == ["\(folder)/user/notifyd/config.toml"])
    }

    @Test func aDirectoryOfPackagesWithTooManyEntriesIsLeftOut() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let names = (0...ConfigurationFiles.maximumEntries).map { "a/notifyd/config.d/\($0)" }
        let found = try found(names + ["a/notifyd/config.d/1.toml", "b/notifyd/config.d/2.toml"])
        #expect(
            self.names(found) == [
                "b/notifyd/config.d/2.toml (package)", "etc/config.toml", "user/notifyd/config.toml",
            ])
        let configuration = try ConfigurationFiles.load(found)
        #expect(configuration.leftOut.map(\.file) == ["\(folder)/a/notifyd/config.d"])
        #expect(configuration.leftOut.first?.reason.contains("more than 10000 entries") == true)
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

    private func mistakes(_ text: String) throws -> [ConfigurationError.Mistake] {
        let configuration = try read(text)
        #expect(configuration.files.isEmpty)
        return configuration.leftOut
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
        let mistakes = try mistakes("# An application.\n\n" + text)
        #expect(mistakes.count == 1)
        let mistake = mistakes.first
        #expect(mistake?.file == "app.toml")
        #expect(mistake?.line == 3)
        #expect(mistake?.reason.contains("applies to the events of all programs") == true)
    }

    @Test func whatBreaksThroughAPauseIsForTheUserToSay() throws {
        let text = "[[route]]\ntopic = \"/app\"\nbreak_through = true\n"
        let mistakes = try mistakes(text)
        #expect(mistakes.map(\.line) == [3])
        #expect(mistakes.first?.reason.hasPrefix("'break_through' has no place in a package's file") == true)
        var reader = ConfigurationReader()
        reader.add(file: "user.toml", text: text)
        #expect(try reader.finish().routes.route(for: try Topic("/app")).breaksThrough)
    }

    @Test func anUnknownKeyIsToldTheOneThatIsAllowed() throws {
        let mistakes = try mistakes("windows = 1\n[[polcy]]\n[log]\n")
        #expect(mistakes.count == 3)
        #expect(mistakes.map(\.reason).filter { $0.hasSuffix("the keys are route") }.count == 2, "\(mistakes)")
    }
}
