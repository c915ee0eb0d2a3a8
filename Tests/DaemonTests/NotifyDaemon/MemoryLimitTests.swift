import Foundation
import Journal
import NotifyTestSupport
import Testing

@testable import NotifyDaemon
@testable import Routing

struct MemoryLimitTests {
    /// The longest topic, global name and connection name.
    private static let topic = 255
    private static let name = 2 * (256 + MemoryCost.text)
    /// The daemon without events, with SQLite's cache.
    private static let base = 24 << 20
    /// What the messages cost that the bus has not taken: signals, replies, and two snapshots that are being made.
    private static let sending = (4 << 20) + 2 * Journal.answerLimit

    /// Everything that clients can make grow, each at its limit.
    private var atTheLimits: Int {
        let limits = Limits()
        let values = limits.valueBytes + limits.removals * (MemoryCost.removal + Self.topic + Self.name)
        let screens = limits.screens * (MemoryCost.screen + Self.topic) + limits.questions * MemoryCost.question
        let claims =
            limits.awaitedBytes + limits.holds * MemoryCost.hold + limits.graces * (MemoryCost.grace + Self.topic)
        let banners = limits.retractableBytes + limits.snoozeBytes + (limits.mutes + limits.digests) * 512
        // A call is kept as a message and as what was read from it.
        let calls = 2 * FairQueue<Void>.totalLimit
        let signals = SignalQueue.memoryLimit + SignalQueue.lengthLimit * MemoryLayout<SignalQueue.Entry>.stride
        return Self.base + Self.sending + limits.undecidedBytes + limits.globalIDBytes + values + screens + claims
            + banners + calls + signals
    }

    @Test func allLimitsTogetherFitIntoTheMemoryOfTheUnit() throws {
        let unit = try Project.text("systemd/notifyd.service")
        let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix("MemoryMax=") })
        let memory = try #require(Int(line.dropFirst("MemoryMax=".count).dropLast())) << 20
        #expect(line.hasSuffix("M"))
        #expect(atTheLimits <= memory * 7 / 8, "\(atTheLimits >> 20) MiB of \(memory >> 20)")
    }
}

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

/// What a unit for the command of a button is made of.
struct CommandUnitsTests {
    @Test func controlCharactersDoNotKeepACommandFromStarting() {
        #expect(TransientUnits.permitted("line\nand\ttab, 영희") == "line\nand\ttab, 영희")
        #expect(TransientUnits.permitted("a\r\nb\u{1}c\u{7f}") == "a\u{fffd}\nb\u{fffd}c\u{fffd}")
    }
}

/// Where the programs of buttons are looked for.
struct ProgramPathTests {
    @Test func theFolderOfNotifydComesLast() {
        #expect(ProgramPath.folders(of: "/a:/b", beside: "/own") == ["/a", "/b", "/own"])
        #expect(ProgramPath.folders(of: "/own:/b", beside: "/own") == ["/own", "/b"])
        #expect(ProgramPath.folders(of: nil, beside: "/own") == ["/usr/local/bin", "/usr/bin", "/bin", "/own"])
        #expect(ProgramPath.folders(of: "/a", beside: nil) == ["/a"])
        #expect(ProgramPath.folder?.hasPrefix("/") == true)
    }

    @Test func onlyFoldersThatAUnitTakesAreInIt() {
        #expect(ProgramPath.folders(of: "/a//b/:rel:.::/a/../b:/c/./d", beside: nil) == ["/a/b", "/c/d"])
    }
}
