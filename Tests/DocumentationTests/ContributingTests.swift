import Foundation
import Testing

struct ContributingTests {
    @Test(arguments: ["CONTRIBUTING.md", "README.md"])
    func everyFileThatIsNamedIsThere(_ document: String) throws {
        let path = /`((?:Sources|Tests|docs|systemd|python)\/[^`<\s]+)[^`]*`/
        for match in try Project.text(document).matches(of: path) {
            let isThere = FileManager.default.fileExists(atPath: Project.path(String(match.1)))
            #expect(isThere, "\(document) names \(match.1), which is not there")
        }
    }

    @Test func everyTargetThatIsNamedIsThere() throws {
        let makefile = try Project.text("Makefile")
        for match in try Project.text("CONTRIBUTING.md").matches(of: /`make ([a-z-]+)`/) {
            #expect(makefile.contains("\n\(match.1): "), "there is no make \(match.1)")
        }
    }
}
