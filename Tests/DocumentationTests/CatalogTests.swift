import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import NotifyDaemon

/// `systemd/notifyd.catalog` explains every record that the daemon writes, and journald understands it.
struct CatalogTests {
    private struct Entry {
        let id: String
        let headers: [String]
        let text: [String]
    }

    private let entries: [Entry]

    init() throws {
        let parts = try Project.text("systemd/notifyd.catalog").split(separator: "\n-- ").dropFirst()
        entries = parts.map { part in
            let lines = part.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            let end = lines.firstIndex(of: "") ?? lines.endIndex
            return Entry(id: lines[0], headers: Array(lines[1..<end]), text: lines[end...].filter { !$0.isEmpty })
        }
    }

    /// Those that the daemon logs.
    private static func messageIDs() throws -> [String] {
        try Project.text("Sources/Daemon/NotifyDaemon/MessageID.swift").matches(of: /"([0-9a-f]{32})"/).map {
            String($0.1)
        }
    }

    @Test func everyRecordHasAnEntryAndEveryEntryARecord() throws {
        #expect(try entries.map(\.id).sorted() == Self.messageIDs().sorted())
    }

    @Test func everyEntrySaysWhatItMeansAndWhereToReadOn() {
        for entry in entries {
            #expect(entry.headers.map { $0.prefix { $0 != ":" } } == ["Subject", "Defined-By", "Documentation"])
            #expect(!entry.text.isEmpty, "\(entry.id) is empty")
        }
    }

    @Test func placeholdersAreFieldsThatAreLogged() throws {
        let sources = try Project.texts(below: "Sources/Daemon/NotifyDaemon", suffix: ".swift")
        let keys = sources.flatMap { $0.matches(of: /"([a-z.]+)":\s+"\\\(/).map { String($0.1) } }
        let fields = Set(keys.map { "NOTIFYD_" + $0.uppercased().replacing(".", with: "_") })
        for entry in entries {
            for match in entry.text.joined(separator: "\n").matches(of: /@(\w+)@/) {
                #expect(fields.contains(String(match.1)), "\(entry.id): nothing is logged as \(match.1)")
            }
        }
    }

    @Test func nothingIsLoggedInAnotherWay() throws {
        for source in try Project.texts(below: "Sources/Daemon/NotifyDaemon", suffix: ".swift") {
            let calls = source.matches(of: /logger\.(trace|debug|info|notice|warning|error|critical|log)\(/)
            #expect(calls.isEmpty, "\(calls.map(\.0)): what the daemon says is listed in MessageID")
        }
    }

    @Test func journaldTakesTheCatalog() async throws {
        let folder = try TemporaryFolder()
        let script = """
            mkdir -p "$1/usr/lib/systemd/catalog" "$1/var/lib/systemd/catalog"
            cp "$2" "$1/usr/lib/systemd/catalog/"
            journalctl --root="$1" --update-catalog
            journalctl --root="$1" --list-catalog --no-pager
            """
        let process = try ChildProcess(
            "/bin/sh",
            ["-e", "-c", script, "sh", folder.path, Project.path("systemd/notifyd.catalog")],
            environment: ChildProcess.currentEnvironment, capturing: [1])
        #expect(await process.waitForExit() == .code(0))
        let lines = await process.allLines(of: 1)
        #expect(try lines?.count == Self.messageIDs().count)
    }
}
