import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import notifyctl

/// `notifyctl setup` in a home of its own, without a bus. `Rigs/systemd-user.sh` has a bus and a service manager.
@Suite(.timeLimit(.minutes(1))) struct SetupCommandTests {
    private func environment(_ home: TemporaryFolder, _ shell: String = "/bin/bash") -> [String: String] {
        ["HOME": home.path, "PATH": "/usr/bin:/bin", "SHELL": shell, "TERM": "xterm"]
            .merging(ChildProcess.sanitizerEnvironment) { $1 }
    }

    private func run(
        _ home: TemporaryFolder, shell: String = "/bin/bash", _ program: String = BuiltPrograms.notifyctl,
        _ arguments: String...
    ) async throws -> (exit: ChildProcess.Exit?, text: String) {
        let result = try await ChildProcess.run(program, arguments, environment: environment(home, shell))
        return (result.exit, (result.output + result.errors).joined(separator: "\n"))
    }

    /// The files in a home, with what is in them.
    private func files(_ home: TemporaryFolder) async throws -> String {
        let script = "cd && { find . ! -type d && find . -type f -exec md5sum {} +; } | sort"
        return try await run(home, "/bin/sh", "-c", script).text
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
        #expect(second.exit == .code(0) && second.text.contains("shell is on: ~/.bashrc, ~/.profile."))
        #expect(try await files(home) == after)
        let removal = try await run(home, BuiltPrograms.notifyctl, "setup", "--remove")
        #expect(removal.exit == .code(0) && removal.text.contains("Took the line out of ~/.bashrc."))
        #expect(try await files(home) == before)
    }

    @Test func withoutATerminalItSaysWhatToType() async throws {
        let home = try TemporaryFolder()
        let setup = try await run(home, BuiltPrograms.notifyctl, "setup", "shell")
        #expect(setup.exit == .code(64) && setup.text.hasSuffix("notifyctl setup shell --yes"))
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
        #expect(FileFacts.names(in: home.path) == [".", "..", ".bashrc", ".profile"])
    }

    @Test func onATerminalItAsksAgainUntilItUnderstandsAndEndsWithItsInput() async throws {
        let home = try TemporaryFolder()
        let terminal = try PseudoTerminal(columns: 200)
        let setup = try terminal.run(
            BuiltPrograms.notifyctl, ["setup", "path", "shell"], environment: environment(home))
        #expect(try await terminal.shows("Turn it on? [y/N] "))
        terminal.type("maybe\n")
        #expect(try await terminal.shows("Answer with y or n.\r\nTurn it on? [y/N] "))
        terminal.type("\u{4}")
        #expect(await setup.waitForExit() == .code(0))
        #expect(!terminal.text.contains("long command"))
        #expect(FileFacts.names(in: home.path) == [".", ".."])
    }

    @Test(arguments: [[:], [".bash_profile": "umask 22\n"], [".profile": "[ -z \"$BASH\" ] || . ~/.bashrc"]])
    func shellsOfALoginHaveItToo(_ files: [String: String]) async throws {
        let home = try TemporaryFolder()
        for (name, text) in files { try home.write(text, to: name) }
        let before = try await self.files(home)
        #expect(try await run(home, BuiltPrograms.notifyctl, "setup", "path", "shell", "--yes").exit == .code(0))
        let bash = try await run(home, "/bin/bash", "-lic", "type -P notifyctl")
        #expect(bash.text.split(separator: "\n").contains { $0 == BuiltPrograms.notifyctl })
        // It reads ~/.profile alone, which must not hold what only bash understands.
        let sh = try await run(home, "/bin/sh", "-lc", "command -v notifyctl")
        #expect(sh.exit == .code(files[".bash_profile"] == nil && files[".profile"] == nil ? 0 : 127))
        #expect(!sh.text.contains("Syntax"))
        #expect(try await run(home, BuiltPrograms.notifyctl, "setup", "--remove").exit == .code(0))
        #expect(try await self.files(home) == before)
    }

    @Test func aFileThatCannotBeWrittenDoesNotKeepTheOtherBack() async throws {
        let home = try TemporaryFolder()
        try home.write("", to: ".config/environment.d")
        try home.write("", to: ".bashrc")
        try home.write(". ~/.bashrc", to: ".profile")
        let setup = try await run(home, BuiltPrograms.notifyctl, "setup", "path", "--yes")
        #expect(setup.exit == .code(77) && setup.text.contains("Write this line into it yourself: PATH="))
        #expect(FileFacts.text(of: home.path + "/.bashrc")?.contains("# notifyctl setup path") == true)
    }

    @Test(.enabled(if: access("/usr/bin/zsh", X_OK) == 0 || access("/bin/zsh", X_OK) == 0))
    func theFilesOfZshAreWhereZshLooksForThem() async throws {
        let home = try TemporaryFolder()
        try home.write("ZDOTDIR=$HOME/z\n", to: ".zshenv")
        #expect(
            try await run(home, shell: "/bin/zsh", BuiltPrograms.notifyctl, "setup", "shell", "--yes").exit == .code(0))
        #expect(FileFacts.names(in: home.path) == [".", "..", ".zshenv", "z"])
        #expect(try await run(home, shell: "/bin/zsh", BuiltPrograms.notifyctl, "setup", "--remove").exit == .code(0))
        #expect(FileFacts.names(in: home.path + "/z") == [".", ".."])
    }

    @Test func anotherShellIsToldWhatToDo() async throws {
        let home = try TemporaryFolder()
        let setup = try await run(home, shell: "/bin/dash", BuiltPrograms.notifyctl, "setup", "path", "shell", "--yes")
        #expect(setup.exit == .code(77) && setup.text.contains("Your shell, /bin/dash, is not bash"))
        #expect(setup.text.contains("Services have it from your next login on."))
        #expect(setup.text.contains("shell cannot be turned on: your shell, /bin/dash, is not"))
    }

    @Test(arguments: ["setup path --yes", "setup --remove --purge --yes", "browser install firefox"])
    func aHomeThatIsNotTextIsLeftAlone(_ command: String) async throws {
        let home = try TemporaryFolder()
        let script =
            #"HOME=$HOME/$(printf 'caf\351'); export HOME; mkdir "$HOME"; \#(BuiltPrograms.notifyctl) \#(command)"#
        let result = try await run(home, "/bin/sh", "-c", script)
        #expect(result.exit == .code(77) && result.text.contains("HOME is not text in UTF-8"))
        #expect(FileFacts.names(in: home.path).count == 3)
    }

    @Test(
        .enabled(if: getuid() == 0),
        arguments: [
            "setup path --yes", "setup --remove --purge --yes", "browser install firefox",
        ])
    func rootLeavesNoFilesInTheHomeOfSomebodyElse(_ command: String) async throws {
        let home = try TemporaryFolder()
        try home.write("", to: ".config/notifyd/config.toml")
        chown(home.path, 1000, 1000)
        let result = try await run(home, "/bin/sh", "-c", "\(BuiltPrograms.notifyctl) \(command)")
        #expect(result.exit == .code(77) && result.text.contains("belongs to user 1000, and you are root"))
        #expect(FileFacts.names(in: home.path) == [".", "..", ".config"])
        #expect(FileFacts.names(in: home.path + "/.config/notifyd") == [".", "..", "config.toml"])
        #expect(FileFacts.names(in: home.path + "/.config") == [".", "..", "notifyd"])
    }

    @Test func whatALinkLeadsToIsNotDeletedAndThatIsSaid() async throws {
        let home = try TemporaryFolder()
        try home.write("secret", to: "dots/notifyd/config.toml")
        try home.folder(".config")
        symlink(home.path + "/dots/notifyd", home.path + "/.config/notifyd")
        let purge = try await run(home, BuiltPrograms.notifyctl, "setup", "--remove", "--purge", "--yes")
        #expect(purge.exit == .code(77) && purge.text.contains("It was a link to \(home.path)/dots/notifyd"))
        #expect(FileFacts.text(of: home.path + "/dots/notifyd/config.toml") == "secret")
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
