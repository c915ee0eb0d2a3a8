import Foundation
import Glibc
import NotifyClient
import NotifyTestSupport
import Testing

/// The documents as `make install` leaves them: every link in them leads to another file that is installed.
@Suite(.timeLimit(.minutes(1))) struct ReadMeTests {
    private func output(_ program: String, _ arguments: String...) async throws -> [String] {
        let process = try ChildProcess(
            program, arguments, environment: ChildProcess.currentEnvironment, capturing: [1])
        let lines = await process.allLines(of: 1) ?? []
        #expect(await process.waitForExit() == .code(0))
        return lines
    }

    private let script = Project.path("docs/installed-links.sed")

    @Test func everyLinkLeadsToWhatIsInstalled() async throws {
        let folder = "/p/share/doc/notifyd/"
        let installed = try await output("make", "-s", "-C", Project.path(""), "installed", "PREFIX=/p")
        let files = installed.filter { $0.hasPrefix(folder) }.map { String($0.dropFirst(folder.count)) }
        #expect(files.contains("config.toml") && files.contains("examples/python/mail.py"))
        #expect(!files.contains { $0.contains("examples/swift") || $0.contains("__pycache__") })

        let readMe = try await output("sed", "-f", script, Project.path("README.md"))
        try check(readMe, in: "", files, contains: "bridges.md")
        for (guide, target) in [
            ("bridges", "examples/python/mail.py"), ("install", "#where-users-get-no-namespaces"),
            ("recipes", "examples/systemd/stretch.timer"),
        ] {
            let lines = try await output("sed", "-f", script, Project.path("docs/\(guide).md"))
            try check(lines, in: "", files, contains: target)
        }
        // As in the Makefile.
        let examples = try await output(
            "sed", "-e", #"s|](\([a-z0-9-]*/\)|](examples/\1|g"#, "-f", script, "-e", "s|](examples/|](|g",
            Project.path("examples/README.md"))
        try check(examples, in: "examples/", files, contains: "python/mail.py")
    }

    private func check(_ lines: [String], in folder: String, _ files: [String], contains target: String) throws {
        let targets = lines.joined(separator: "\n").matches(of: /\]\(([^)]*)\)/).map { String($0.1) }
        #expect(targets.contains(target))
        for target in targets where !target.hasPrefix("https://") && !target.hasPrefix("#") {
            let path = folder + target
            #expect(files.contains { $0 == path || $0.hasPrefix(path + "/") }, "\(target) is not installed")
        }
    }

    /// `make bench` and `make bench-peers` write between these lines, the latter ten rows and an empty line.
    @Test func thereIsRoomForTheFigures() throws {
        let text = try Project.text("README.md")
        for name in ["bench", "bench-peers"] {
            let parts = text.components(separatedBy: "<!-- \(name): written by make \(name) -->\n")
            #expect(parts.count == 2 && parts.last?.contains("<!-- end of \(name) -->") == true)
        }
        let peers = try #require(text.firstMatch(of: /bench-peers -->\n((?s).*)<!-- end of bench-peers/)).1
        let rows = peers.split(separator: "\n").count
        #expect(rows == 0 || peers.contains("**notifyd**"))
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 + max(0, 11 - rows) <= 200)
    }

    /// The Makefile has lists of them.
    @Test func everyUnitAndPageOfTheSourceIsInstalled() async throws {
        let installed = Set(try await output("make", "-s", "-C", Project.path(""), "installed", "PREFIX=/p"))
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: Project.path("docs")) {
            guard let section = name.split(separator: ".").last, ["1", "5", "8"].contains(section) else { continue }
            #expect(installed.contains("/p/share/man/man\(section)/\(name)"), "\(name) is not installed")
        }
        for name in try files.contentsOfDirectory(atPath: Project.path("systemd")) {
            let folder =
                switch (name.hasSuffix(".service"), name.hasSuffix(".xml"), name.hasPrefix("org.")) {
                case (true, _, true): "share/dbus-1/services"
                case (true, _, false): "lib/systemd/user"
                case (_, true, _): "share/dbus-1/interfaces"
                default: ""
                }
            #expect(folder.isEmpty || installed.contains("/p/\(folder)/\(name)"), "\(name) is not installed")
        }
    }
    /// Lines of debian/*.install are patterns of installed paths, or a file of the source and its folder.
    @Test func everyInstalledFileIsInOneDebianPackage() async throws {
        let installed = try await output("make", "-s", "-C", Project.path(""), "installed", "PREFIX=/usr")
            .map { String($0.dropFirst()).replacing("site-functions", with: "vendor-completions") }
        let lists = try FileManager.default.contentsOfDirectory(atPath: Project.path("debian"))
            .filter { $0.hasSuffix(".install") }
        var patterns: [(package: String, pattern: String)] = []
        for list in lists {
            for line in try Project.text("debian/\(list)").split(separator: "\n") {
                if let source = line.split(separator: " ").first, source != line {
                    #expect(FileManager.default.fileExists(atPath: Project.path(String(source))), "\(list): \(source)")
                } else {
                    patterns.append((list, String(line)))
                }
            }
        }
        var used: Set<String> = []
        for file in installed where !file.hasSuffix("/LICENSE") {
            let matching = patterns.filter {
                fnmatch($0.pattern, file, 0) == 0 || fnmatch($0.pattern + "/*", file, 0) == 0
            }
            #expect(matching.count == 1, "\(file) is in \(matching.map { $0.package })")
            used.formUnion(matching.map { $0.pattern })
        }
        for unused in patterns where !used.contains(unused.pattern) {
            Issue.record("\(unused.package): nothing is installed at \(unused.pattern)")
        }
    }

    /// The library for Swift is packaged as sources: each module that they import has to be with them.
    @Test func everyModuleThatTheLibraryImportsIsPackaged() throws {
        let manifest = try Project.text("debian/client/Package.swift")
        let folders = try Project.text("debian/libnotifyclient-swift-dev.install").matches(of: /(?m)^Sources\S*/)
            .map { String($0.output) }
        let modules = Set(folders.compactMap { $0.split(separator: "/").last }.map(String.init))
        #expect(modules.contains("NotifyClient"))
        for module in modules { #expect(manifest.contains("name: \"\(module)\""), "\(module) has no target") }
        for folder in folders {
            for source in try Project.texts(below: folder, suffix: ".swift") {
                let imported = source.matches(of: /(?m)^(?:\w+ )?import (\w+)$/).map { String($0.1) }
                let missing = Set(imported).subtracting(modules).subtracting(["Dispatch", "Glibc", "Synchronization"])
                #expect(missing.isEmpty, "\(folder) imports what is not packaged")
            }
        }
    }
}
