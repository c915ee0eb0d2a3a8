import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import notifyctl

/// `notifyctl setup` in a home of its own, without a bus. `Rigs/systemd-user.sh` has a bus and a service manager.
@Suite(.timeLimit(.minutes(1))) struct SetupCommandTests {
    private func environment(_ home: TemporaryFolder) -> [String: String] {
        ["HOME": home.path, "PATH": "/usr/bin:/bin", "SHELL": "/bin/bash", "TERM": "xterm"]
            .merging(ChildProcess.sanitizerEnvironment) { $1 }
    }

    private func run(
        _ home: TemporaryFolder, _ program: String = BuiltPrograms.notifyctl, _ arguments: String...
    ) async throws -> (exit: ChildProcess.Exit?, text: String) {
        let process = try ChildProcess(program, arguments, environment: environment(home), capturing: [1, 2])
        let exit = await process.waitForExit()
        let lines = await (process.allLines(of: 1) ?? []) + (process.allLines(of: 2) ?? [])
        return (exit, lines.joined(separator: "\n"))
    }

    /// The files in a home, with what is in them.
    private func files(_ home: TemporaryFolder) async throws -> String {
        try await run(home, "/bin/sh", "-c", "cd && { find . && find . -type f -exec md5sum {} +; } | sort").text
    }

    @Test func whatIsSetUpWorksAndIsTakenBackToTheByte() async throws {
        let home = try TemporaryFolder()
        try home.write("export MINE=1", to: ".bashrc")
        try home.write("[Profile0]\n", to: ".mozilla/firefox/profiles.ini")
        let before = try await files(home)
        let setup = try await run(home, BuiltPrograms.notifyctl, "setup", "path", "shell", "browser", "--yes")
        #expect(setup.exit == .code(0) && setup.text.contains("Wrote a line into ~/.bashrc."))
        let shell = try await run(home, "/bin/bash", "-ic", "type -P notifyctl; echo $MINE")
        #expect(shell.text.contains("\(BuiltPrograms.notifyctl)\n1"))
        let after = try await files(home)
        #expect(after.contains("native-messaging-hosts/org.notifyd.browser.json"))
        let second = try await run(home, BuiltPrograms.notifyctl, "setup", "path", "shell", "browser", "--yes")
        #expect(second.exit == .code(0) && second.text.contains("shell is on: ~/.bashrc."))
        #expect(try await files(home) == after)
        let removal = try await run(home, BuiltPrograms.notifyctl, "setup", "--remove")
        #expect(removal.exit == .code(0) && removal.text.contains("Took the line out of ~/.bashrc."))
        #expect(try await files(home) == before)
    }

    @Test func withoutATerminalItSaysWhatToType() async throws {
        let home = try TemporaryFolder()
        let setup = try await run(home, BuiltPrograms.notifyctl, "setup", "shell")
        #expect(setup.exit == .code(64) && setup.text.contains("notifyctl setup shell --yes"))
        let purge = try await run(home, BuiltPrograms.notifyctl, "setup", "--remove", "--purge")
        #expect(purge.exit == .code(64) && purge.text.contains("With --yes it does not"))
        #expect(FileFacts.names(in: home.path) == [".", ".."])
    }

    @Test func onATerminalItAsksForEach() async throws {
        let home = try TemporaryFolder()
        let terminal = try PseudoTerminal(columns: 200)
        let setup = try terminal.run(
            BuiltPrograms.notifyctl, ["setup", "path", "shell"], environment: environment(home))
        #expect(try await terminal.shows("services find notifyctl."))
        #expect(try await terminal.shows("Turn it on? [y/N] "))
        let start = terminal.text.count
        terminal.type("\n")
        #expect(try await terminal.shows("Turn it on? [y/N] ", after: start))
        terminal.type("y\n")
        #expect(try await terminal.shows("Wrote a line into ~/.bashrc."))
        #expect(await setup.waitForExit() == .code(0))
        #expect(FileFacts.names(in: home.path) == [".", "..", ".bashrc"])
    }

    @Test func everythingIsDeletedOnlyIfThatIsSaid() async throws {
        let home = try TemporaryFolder()
        for name in [".local/state/notifyd/log/1", ".config/notifyd/config.toml", ".config/other"] {
            try home.write("", to: name)
        }
        #expect(try await run(home, BuiltPrograms.notifyctl, "setup", "--remove").text.contains("nothing to take back"))
        #expect(access(home.path + "/.local/state/notifyd/log/1", F_OK) == 0)
        #expect(try await run(home, BuiltPrograms.notifyctl, "setup", "--remove", "--purge", "--yes").exit == .code(0))
        #expect(FileFacts.names(in: home.path + "/.config") == [".", "..", "other"])
        #expect(FileFacts.names(in: home.path + "/.local/state") == [".", ".."])
    }

    @Test(arguments: ["notifyd", "notifyd-mqtt", "notifyd-unifiedpush"])
    func nothingIsDeletedUnderAProgramThatRuns(_ name: String) async throws {
        let home = try TemporaryFolder()
        try home.write("", to: ".local/state/notifyd/index.db")
        try home.write("", to: ".config/notifyd/config.toml")
        let program = home.path + "/" + name
        #expect(try await run(home, "/bin/cp", "/bin/sleep", program).exit == .code(0))
        let before = try await files(home)
        let process = try ChildProcess(program, ["600"], environment: environment(home), capturing: [])
        let purge = try await run(home, BuiltPrograms.notifyctl, "setup", "--remove", "--purge", "--yes")
        #expect(purge.exit == .code(77) && purge.text.contains("kill \(process.identifier)"))
        #expect(try await files(home) == before)
        process.signal(SIGKILL)
        _ = await process.waitForExit()
        #expect(try await run(home, BuiltPrograms.notifyctl, "setup", "--remove", "--purge", "--yes").exit == .code(0))
    }

    @Test func aLinkThatWasNotLeftIsNotDeletedAlsoIfItDoesNotRun() async throws {
        let home = try TemporaryFolder()
        try home.write("", to: ".config/notifyd/mqtt.toml")
        let purge = try await run(home, BuiltPrograms.notifyctl, "setup", "--remove", "--purge", "--yes")
        #expect(purge.exit == .code(77) && purge.text.contains("notifyctl link leave"))
        #expect(FileFacts.names(in: home.path + "/.config/notifyd").contains("mqtt.toml"))
    }

    @Test func aUnitThatIsOnIsNotPassedOverWithoutABus() async throws {
        let home = try TemporaryFolder()
        try home.folder(".config/systemd/user/default.target.wants")
        let link = home.path + "/.config/systemd/user/default.target.wants/notifyd-desktop.service"
        symlink("/usr/lib/systemd/user/notifyd-desktop.service", link)
        let removal = try await run(home, BuiltPrograms.notifyctl, "setup", "--remove")
        #expect(removal.exit == .code(77) && removal.text.contains("disable --now notifyd-desktop.service"))
        unlink(link)
        #expect(try await run(home, BuiltPrograms.notifyctl, "setup", "--remove").exit == .code(0))
    }
}
