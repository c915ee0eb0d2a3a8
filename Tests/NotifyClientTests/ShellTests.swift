import NotifyText
import Testing

@testable import Watching
@testable import notifyctl

/// What shells report, and what they run for it; Tests/EndToEndTests/Rigs/shells.sh has real ones.
struct ShellTests {
    private func report(_ command: String, status: Int = 0, seconds: Int = 42) -> ShellReport? {
        ShellReport(command: command, status: status, duration: .seconds(seconds), ignored: InteractiveCommands.usual)
    }

    @Test func aReportSaysWhatHasEndedAndHow() {
        #expect(report("make test")?.title == "make test")
        #expect(report("make test")?.body == "Done after 42 s")
        #expect(report("make test", status: 2, seconds: 312)?.body == "Exit status 2 after 5 min 12 s")
        #expect(report("make test", seconds: 11_100)?.body == "Done after 3 h 5 min")
        #expect(report("make", status: 143)?.hasFailed == true)
    }

    @Test(arguments: [130, 147, 148]) func whatWasEndedByHandIsNotReported(_ status: Int) {
        #expect(report("make", status: status) == nil)
    }

    @Test(arguments: [
        "", " ", " make", "\tmake", "\nmake", "vim notes", "/usr/bin/vim", "\\less x", "LC_ALL=C man ls", "sudo -i",
        "sudo -E vim /etc/x", "sudo -u x vim", "sudo -nu x -- vim", "sudo --user x vim",
        "env -u A A=b nice -n 5 command man ls", "time",
        "git log -p", "\\git  show",
    ]) func whatIsSecretOrInteractiveIsNotReported(_ command: String) { #expect(report(command) == nil) }

    @Test(arguments: [
        "make vim", "sudo make", "vimx", "./vim-test", "a=b", "=x make", "time make", "echo 'vim'", "bash script.sh",
        "ssh host make",
        "sudo -u vim make", "sudo --user=x make", "git", "git push log", "git-log",
    ])
    func otherCommandsAre(_ command: String) { #expect(report(command) != nil) }

    @Test func theListOfTheUserCounts() {
        let isReported = { ShellReport(command: $0, status: 0, duration: .zero, ignored: $1) != nil }
        #expect(isReported("less x", ""))
        #expect(!isReported("sudo /usr/bin/make x", "cc : make:"))
        for command in ["make watch", "make watch-css all", "npm run dev"] {
            #expect(!isReported(command, "make  watch*:npm run dev"))
        }
        for command in ["make", "make all watch", "npm run develop"] {
            #expect(isReported(command, "make  watch*:npm run dev"))
        }
    }

    @Test func whatTookTheInputOfTheTerminalUntilItsEndIsInteractive() {
        let end: Int64 = 1_000_000
        let isInteractive = { TerminalInput(lastRead: end - $0).wasTaken(upTo: end, by: .seconds($1)) }
        // The kernel may note the time 8 seconds too early.
        for ago in [0, 1, 8] as [Int64] { #expect(isInteractive(ago, 3600)) }
        // Only a question at the beginning, or nothing at all: the shell itself has read the command.
        for ago in [16, 60, 3590, 3600] as [Int64] { #expect(!isInteractive(ago, 3600)) }
        for seconds in 0...40 as ClosedRange<Int64> { #expect(!isInteractive(seconds, Double(seconds) + 0.5)) }
    }

    @Test func theTitleIsOneLineWithoutControlCharacters() {
        #expect(report("echo a\necho b")?.title == "echo a")
        #expect(report("echo \u{1b}]0;x\u{7}\t%s")?.title == #"echo \u{1b}]0;x\u{7}\t%s"#)
        let strange = String(String.UnicodeScalarView([0xFFFF, 0xFDD0].compactMap { Unicode.Scalar($0 as UInt32) }))
        #expect(report("echo " + strange)?.title == "echo \u{FFFD}\u{FFFD}")
        #expect(report("é" + String(repeating: "x", count: 1 << 20))?.title.unicodeScalars.count == 80)
    }

    // MARK: Scripts

    @Test(arguments: ShellScript.allCases) func aScriptHasNothingToFillIn(_ shell: ShellScript) {
        let text = shell.text(program: "/opt/it's \\ $HOME/@topic@", topic: "/shell/lab/pts-3", terminal: "/dev/pts/3")
        #expect(
            text.contains("'/shell/lab/pts-3'") && text.contains(":less:") && text.contains("stat -c %X '/dev/pts/3'"))
        #expect(!text.contains("@seconds@"))
        let program = shell == .fish ? #"'/opt/it\'s \\ $HOME/@topic@'"# : #"'/opt/it'\''s \ $HOME/@topic@'"#
        #expect(text.contains(program))
    }

    @Test func theLineForTheConfigurationHasTheFullPath() {
        #expect(
            ShellScript.bash.advice(program: "/home/mina/.local/bin/notifyctl") == """
                # At the end of ~/.bashrc:
                eval "$(/home/mina/.local/bin/notifyctl shell init bash)"
                # With tmux, in ~/.tmux.conf:
                set -g focus-events on; run-shell -b "/home/mina/.local/bin/notifyd-focus --tmux"

                """)
        #expect(
            ShellScript.fish.advice(program: "/it's/notifyctl").contains(
                #"'/it\'s/notifyctl' shell init fish | source"#))
    }

    // MARK: Panes

    private static let variables = ["TMUX": "/tmp/tmux,1000/default,4711,0", "TMUX_PANE": "%3", "WINDOWID": "77"]

    @Test func aShellThatTmuxHasStartedIsInItsPane() {
        let pane = ShellTopic.Pane.tmux(server: 4711, pane: 3)
        #expect(TerminalPane.tmux(Self.variables, parentOfSession: 4711) == pane)
        #expect(TerminalPane.tmux(Self.variables, parentOfSession: nil) == pane)
    }

    @Test func aWindowThatWasOpenedFromTmuxIsNot() {
        #expect(TerminalPane.tmux(Self.variables, parentOfSession: 12) == nil)
        #expect(TerminalPane.tmux(["TMUX": "x", "TMUX_PANE": "%3"], parentOfSession: nil) == nil)
        #expect(TerminalPane.tmux(["TMUX": "x,1,0", "TMUX_PANE": "3"], parentOfSession: nil) == nil)
        #expect(TerminalPane.tmux([:], parentOfSession: nil) == nil)
    }
}
