import NotifyText
import Testing

@testable import WindowRules
@testable import notifyctl

/// What shells report, and what they run for it; Tests/EndToEndTests/Rigs/shells.sh has real ones.
struct ShellTests {
    private static let usual = InteractiveCommands.usual.joined(separator: " ")

    private func report(_ command: String, status: Int = 0, seconds: Int = 42) -> ShellReport? {
        ShellReport(command: command, status: status, duration: .seconds(seconds), ignored: Self.usual)
    }

    @Test func aReportSaysWhatHasEndedAndHow() {
        #expect(report("make test")?.title == "make test")
        #expect(report("make test")?.body == "Done after 42 s")
        #expect(report("make test", status: 2, seconds: 312)?.body == "Exit status 2 after 5 min 12 s")
        #expect(report("make test", seconds: 11_100)?.body == "Done after 3 h 5 min")
        #expect(report("make", status: 143)?.hasFailed == true)
    }

    @Test(arguments: [130, 148]) func whatWasEndedByHandIsNotReported(_ status: Int) {
        #expect(report("make", status: status) == nil)
    }

    @Test(arguments: [
        "", " ", " make", "\tmake", "\nmake", "vim notes", "/usr/bin/vim", "\\less x", "LC_ALL=C man ls", "sudo -i",
        "sudo -E vim /etc/x",
        "env A=b command ssh host", "time",
    ]) func whatIsSecretOrInteractiveIsNotReported(_ command: String) { #expect(report(command) == nil) }

    @Test(arguments: ["make vim", "sudo make", "vimx", "./ssh-test", "a=b", "=x make", "time make", "echo 'ssh'"])
    func otherCommandsAre(_ command: String) { #expect(report(command) != nil) }

    @Test func theListOfTheUserCounts() {
        #expect(ShellReport(command: "ssh host", status: 0, duration: .zero, ignored: "") != nil)
        #expect(ShellReport(command: "make x", status: 0, duration: .zero, ignored: " make\tcc") == nil)
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
        let text = shell.text(program: "/opt/it's \\ $HOME/@topic@", topic: "/shell/lab/pts-3")
        #expect(text.contains("'/shell/lab/pts-3'") && text.contains(" less ") && !text.contains("@seconds@"))
        let program = shell == .fish ? #"'/opt/it\'s \\ $HOME/@topic@'"# : #"'/opt/it'\''s \ $HOME/@topic@'"#
        #expect(text.contains(program))
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
