import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The files of the configuration, as the daemon finds them.
@Suite(.timeLimit(.minutes(1)))
struct ConfigurationLayerTests {
    private let rig: Rig! = Fixture.current()
    private static let packaged = "data/notifyd/config.d/org.example.App.toml"
    private static let own = "config/notifyd/config.d/org.example.App.toml"

    @Test(.rig) func aPackagesRouteAppliesUntilTheUserReplacesOrMasksIt() async throws {
        func titles() async throws -> String? {
            let id = try await rig.client.publish("/app/7", title: "t")
            defer { Task { try? await rig.client.claim(id) } }
            return await rig.server.banners.next(within: .seconds(5))?.title
        }
        #expect(try await titles() == "t")
        try rig.daemon.folder.write("[[route]]\ntopic = \"/app/{id}\"\ntitle = \"App {{id}}\"\n", to: Self.packaged)
        try await rig.daemon.reload()
        #expect(try await titles() == "App 7")
        try rig.daemon.folder.write("[[route]]\ntopic = \"/app/{id}\"\ntitle = \"Mine\"\n", to: Self.own)
        try await rig.daemon.reload()
        #expect(try await titles() == "Mine")
        let path = "\(rig.daemon.folder.path)/\(Self.own)"
        #expect(unlink(path) == 0 && symlink("/dev/null", path) == 0)
        try await rig.daemon.reload()
        #expect(try await titles() == "t")
    }

    @Test(.rig) func theFilesAreListedInTheirOrder() async throws {
        let folder = rig.daemon.folder.path
        try rig.daemon.folder.write("[[route]]\ntopic = \"/b\"\n", to: "data/notifyd/config.d/b.toml")
        try rig.daemon.folder.write("[[route]]\ntopic = \"/a\"\n", to: "data/notifyd/config.d/a.toml")
        try rig.daemon.folder.write("", to: "config/notifyd/config.d/b.toml")
        let report = try await rig.check()
        #expect(report.exit == .code(0))
        let files = [
            "data/notifyd/config.d/a.toml", "config/notifyd/config.toml", "config/notifyd/config.d/b.toml",
        ]
        let first = try #require(report.output.first)
        #expect(first.contains("(" + files.map { "\(folder)/\($0)" }.joined(separator: ", ") + ")"), "\(first)")
        #expect(
            Array(report.output.suffix(2)) == [
                "Replaced:",
                "  \(folder)/data/notifyd/config.d/b.toml, by \(folder)/config/notifyd/config.d/b.toml",
            ])
    }

    @Test(.rig) func aPackageMakesNoRules() async throws {
        try rig.daemon.folder.write("\n[[policy]]\nallow = [\"publish\"]\n", to: Self.packaged)
        try rig.daemon.folder.write("[[route]]\ntopic = \"/b\"\n", to: "data/notifyd/config.d/b.toml")
        let report = try await rig.check()
        #expect(report.exit == .code(0))
        let told = report.output.joined(separator: "\n")
        #expect(report.output.contains("  /b"), "\(told)")
        #expect(
            told.contains("Left out:\n  \(rig.daemon.folder.path)/\(Self.packaged):2:1: 'policy' has no place"),
            "\(told)")
        rig.daemon.signal(SIGHUP)
        #expect(
            await rig.daemon.errors.next(
                within: .seconds(10), where: { $0.contains("'policy' has no place in a package's file") }) != nil)
        _ = try await rig.client.publish("/app/7", title: "t")
    }

    @Test(.rig) func aShorterHistoryAppliesOnReload() async throws {
        var last: EventID = 0
        for _ in 1...1100 {
            last = try await rig.client.publish("/a", options: PublishOptions(banner: false))
        }
        #expect(try await rig.stored() == 1100)
        try rig.daemon.configure("[history]\nevents = 1000\n")
        try await rig.daemon.reload()
        try await rig.until("old events are deleted") { try await rig.stored() == 1000 }
        #expect(try await rig.client.explain(last).outcome == .silent)
    }
}

extension Rig {
    fileprivate func check() async throws -> CommandResult {
        try await ChildProcess.run(
            BuiltPrograms.notifyctl, ["config", "check"], environment: daemon.environment)
    }

    /// Events in the journal.
    fileprivate func stored() async throws -> UInt64? {
        try await client.statistics()["stored-events"]
    }
}
