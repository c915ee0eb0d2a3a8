import ChildProcesses
import NotifyTestSupport
import Testing

/// The README as `make install` leaves it.
@Suite(.timeLimit(.minutes(1))) struct ReadMeTests {
    @Test func theInstalledReadMeLinksToNothingThatIsNotInstalled() async throws {
        let process = try ChildProcess(
            "sed", ["-f", Project.path("docs/installed-readme.sed"), Project.path("README.md")],
            environment: ChildProcess.currentEnvironment, capturing: [1])
        let text = (await process.allLines(of: 1) ?? []).joined(separator: "\n")
        #expect(await process.waitForExit() == .code(0))
        let targets = text.matches(of: /\]\(([^)]*)\)/).map { String($0.1) }
        #expect(targets.contains("config.toml"))
        for target in targets where !target.hasPrefix("https://") {
            #expect(["config.toml", "LICENSE"].contains(target), "\(target) is not installed beside the README")
        }
    }
}
