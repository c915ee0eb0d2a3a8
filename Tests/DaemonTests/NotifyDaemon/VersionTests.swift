import NotifyDaemon
import NotifyTestSupport
import Testing

/// The version stands in one place, and what has to repeat it agrees.
struct VersionTests {
    @Test func theDebianPackagesHaveIt() throws {
        // Such as "notifyd (1.0.0) bookworm; urgency=medium".
        let entry = try #require(lines(of: "debian/changelog").first)
        #expect(entry.hasPrefix("notifyd (\(notifydVersion)) "), "debian/changelog begins with: \(entry)")
    }

    @Test func theChangelogSaysWhatIsInIt() throws {
        // Such as "## [0.1.0] - 2026-11-21", newest first, under what is not released yet.
        let headings = try lines(of: "CHANGELOG.md").filter { $0.hasPrefix("## [") }
        #expect(headings.first == "## [Unreleased]")
        let newest = try #require(headings.dropFirst().first)
        #expect(newest.hasPrefix("## [\(notifydVersion)] - "), "CHANGELOG.md has as its newest version: \(newest)")
    }

    @Test func thePythonPackageHasIt() throws {
        #expect(try lines(of: "python/pyproject.toml").contains("version = \"\(notifydVersion)\""))
        let wheel = "notifyd-\(notifydVersion)-py3-none-any.whl"
        #expect(try lines(of: "python/README.md").contains { $0.contains(wheel) })
    }

    @Test func theBrowserExtensionHasIt() throws {
        #expect(try lines(of: "browser/manifest.json").contains("    \"version\": \"\(notifydVersion)\","))
    }

    private func lines(of file: String) throws -> [Substring] {
        try Project.text(file).split(separator: "\n")
    }
}
