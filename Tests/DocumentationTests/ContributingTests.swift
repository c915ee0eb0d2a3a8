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

    /// The tables of the path of a push: a row names a file, whose path is at the end of the page, and functions in it.
    /// A sentence before each table says how many they are.
    @Test func thePathOfAPushIsThatOfTheCode() throws {
        let text = try Project.text("CONTRIBUTING.md")
        let paths = Dictionary(
            text.matches(of: /(?m)^\[(.+)\]: (.+)$/).map { ($0.1, $0.2) }, uniquingKeysWith: { _, last in last })
        let tables = text.matches(of: /(\d+) functions in (\d+) files[^|]*((?:\|[^\n]*\n)+)/)
        #expect(tables.count == 2)
        for table in tables {
            var files: Set<Substring> = []
            var functions = 0
            for row in table.3.matches(of: /(?m)^\| \[([^\]]+\.swift)\] \| ([^|]+) \|/) {
                let path = try #require(paths[row.1], "there is no path of \(row.1)")
                files.insert(path)
                let source = try Project.text(String(path))
                for name in row.2.matches(of: /`(\w+)`/).map(\.1) {
                    functions += 1
                    let isThere = ["func \(name)(", "func \(name)<", "let \(name):"].contains { source.contains($0) }
                    #expect(isThere || name == "init" && source.contains("init("), "\(row.1) has no function \(name)")
                }
            }
            #expect(Int(table.1) == functions)
            #expect(Int(table.2) == files.count)
        }
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
    /// a folder. It says what `Package.swift` says, and that is what the sources do.
    @Test func theMapIsThatOfThePackageAndOfTheSources() throws {
        let targets = try PackageTarget.all()
        let rows = try Project.text("CONTRIBUTING.md").split(separator: "\n").filter { $0.hasPrefix("|") }
            .map { $0.split(separator: "|").map { $0.trimmingPrefix(" ") } }
        for target in targets.values where target.folder != nil && target.folder != "C" {
            let row = try #require(
                rows.first { $0.count > 1 && $0[1].hasPrefix("`\(target.name)`") }, "\(target.name) is not on the map")
            let cell = row[row.count - 1]
            var named = Set(cell.matches(of: /`([^`]+)`/).map { String($0.1) }.filter { targets[$0] != nil })
            for match in cell.matches(of: /all of `(\w+)`/) {
                named.formUnion(targets.values.filter { $0.folder == match.1 }.map(\.name))
            }
            #expect(named.subtracting([target.name]) == target.dependencies, "\(target.name) on the map")
        }
        for target in targets.values where target.folder != "C" {
            let sources = try Project.texts(below: target.path, suffix: ".swift").joined(separator: "\n")
            let imported = Set(
                sources.matches(of: /(?m)^(?:@\w+ |public |package |internal |private )*import (?:struct )?(\w+)/)
                    .map { String($0.1).replacing("notifyd_", with: "notifyd-") }.filter { targets[$0] != nil })
            #expect(imported.isSubset(of: target.dependencies), "\(target.name) imports more than Package.swift says")
            // Tests have the programs that they run; of the empty data of ICU, nothing is called.
            let needed = target.dependencies.filter { targets[$0]?.isProgram == false && $0 != "CICU" }
            #expect(imported.isSuperset(of: needed), "\(target.name) imports less than Package.swift says")
        }
    }

    @Test func everyModuleOfTestsIsOnTheMap() throws {
        let text = try Project.text("CONTRIBUTING.md")
        for target in try PackageTarget.all().values where target.isTest {
            #expect(text.contains("`\(target.path)`"), "\(target.path) is not on the map")
        }
    }
}

/// A target, as `Package.swift` has it.
private struct PackageTarget {
    let name: String
    let isTest: Bool
    let isProgram: Bool
    let path: String
    /// The targets of this package that it depends on.
    let dependencies: Set<String>

    /// The folder of `Sources` it is in.
    var folder: Substring? { path.hasPrefix("Sources/") ? path.split(separator: "/")[1] : nil }

    static func all() throws -> [String: PackageTarget] {
        let text = try Project.text("Package.swift")
        let start = /\n {8}\.(target|executableTarget|testTarget|systemLibrary)\(/
        var targets: [String: PackageTarget] = [:]
        let starts = text.matches(of: start)
        for (index, match) in starts.enumerated() {
            let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : text.endIndex
            let body = text[match.range.upperBound..<end]
            let name = try #require(body.firstMatch(of: /name: "([^"]+)"/)?.1)
            let isTest = match.1 == "testTarget"
            let path = body.firstMatch(of: /path: "([^"]+)"/)?.1 ?? (isTest ? "Tests/\(name)" : "Sources/\(name)")
            let listed = body.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.1 ?? ""
            let own = listed.replacing(/\.product\([^)]*\)/, with: "").matches(of: /"([^"]+)"/).map { String($0.1) }
            targets[String(name)] = PackageTarget(
                name: String(name), isTest: isTest, isProgram: match.1 == "executableTarget", path: String(path),
                dependencies: Set(own))
        }
        return targets
    }
}
