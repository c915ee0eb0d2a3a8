import Foundation
import NotifyTestSupport
import Testing

struct ContributingTests {
    @Test(arguments: ["CONTRIBUTING.md", "README.md", "docs/design.md"])
    func everyFileThatIsNamedIsThere(_ document: String) throws {
        let text = try Project.text(document)
        let path = /`((?:Sources|Tests|docs|systemd|python)\/[^`<\s]+)[^`]*`/
        let link = /(?m)^\[[^\]]+\]: ([A-Za-z]\S+)$/
        for file in text.matches(of: path).map(\.1) + text.matches(of: link).map(\.1) {
            let isThere = FileManager.default.fileExists(atPath: Project.path(String(file)))
            #expect(isThere, "\(document) names \(file), which is not there")
        }
    }

    @Test func everyTargetThatIsNamedIsThere() throws {
        let makefile = try Project.text("Makefile")
        for match in try Project.text("CONTRIBUTING.md").matches(of: /`make ([a-z-]+)`/) {
            #expect(makefile.contains("\n\(match.1): "), "there is no make \(match.1)")
        }
    }

    /// The table of the path of a push: a row names a file, whose path is at the end of the page, and functions in it.
    @Test func thePathOfAPushIsThatOfTheCode() throws {
        let text = try Project.text("CONTRIBUTING.md")
        var files: Set<Substring> = []
        var functions = 0
        let paths = Dictionary(
            text.matches(of: /(?m)^\[(.+)\]: (.+)$/).map { ($0.1, $0.2) }, uniquingKeysWith: { first, _ in first })
        for row in text.matches(of: /(?m)^\| \[([^\]]+\.swift)\] \| ([^|]+) \|/) {
            let path = try #require(paths[row.1], "there is no path of \(row.1)")
            files.insert(path)
            let source = try Project.text(String(path))
            for name in row.2.matches(of: /`(\w+)`/).map(\.1) {
                functions += 1
                let isThere = ["func \(name)(", "func \(name)<", "let \(name):"].contains { source.contains($0) }
                #expect(isThere || name == "init" && source.contains("init("), "\(row.1) has no function \(name)")
            }
        }
        #expect(text.contains("\(functions) functions in \(files.count) files"))
    }

    /// The table of the places of an event: its last column names functions.
    @Test func everyFunctionThatMovesAnEventIsThere() throws {
        let daemon = try Project.texts(below: "Sources/Daemon", suffix: ".swift").joined(separator: "\n")
        let section = try #require(
            try Project.text("docs/design.md").split(separator: "\n## ").first { $0.hasPrefix("How") })
        let names = section.split(separator: "\n").filter { $0.hasPrefix("|") }.compactMap {
            $0.split(separator: "|").last
        }
        .flatMap { $0.matches(of: /`(\w+)`/).map(\.1) }
        #expect(!names.isEmpty)
        for name in names { #expect(daemon.contains("func \(name)("), "there is no function \(name)") }
    }

    /// The map of the house: a row for each module, the last cell of which names the modules that it imports, or all of
    /// a folder.
    @Test func everyModuleIsOnTheMapWithWhatItImports() throws {
        let lines = try Project.text("CONTRIBUTING.md").split(separator: "\n").filter { $0.hasPrefix("|") }
        let files = FileManager.default
        var folders: [String: String] = [:]
        for folder in try files.contentsOfDirectory(atPath: Project.path("Sources")) {
            for module in try files.contentsOfDirectory(atPath: Project.path("Sources/\(folder)")) {
                folders[module] = folder
            }
        }
        for (module, folder) in folders where folder != "C" {
            let cells = lines.map { $0.split(separator: "|").map { $0.trimmingPrefix(" ") } }
            let row = try #require(
                cells.first { $0.count > 1 && $0[1].hasPrefix("`\(module)`") }, "\(module) is not on the map")
            let named = row[row.count - 1]
            let sources = try Project.texts(below: "Sources/\(folder)/\(module)", suffix: ".swift").joined(
                separator: "\n")
            for match in sources.matches(of: /(?m)^(?:@testable |public |package |internal )?import (\w+)/) {
                let imported = String(match.1).replacing("notifyd_", with: "notifyd-")
                guard let home = folders[imported], imported != module else { continue }
                let isNamed = named.contains("`\(imported)`") || named.contains("all of `\(home)`")
                #expect(isNamed, "\(module) imports \(imported), and the map does not say so")
            }
        }
    }
}
