import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import notifyctl

/// `notifyctl` on a terminal: a pseudo-terminal, which says what was written, and tmux, which says how it looks.
@Suite(.serialized, .timeLimit(.minutes(1))) struct TerminalTests {
    private let rig: Rig! = Fixture.current()

    // MARK: top

    @Test(.rig) func topShowsAPushCountingDownAndItsOutcome() async throws {
        let terminal = try PseudoTerminal()
        let before = terminal.modes
        let top = try terminal.run(BuiltPrograms.notifyctl, ["top"], environment: rig.onTerminal())
        #expect(try await terminal.shows("none yet"))
        #expect(terminal.text.hasPrefix(PseudoTerminal.entering))
        #expect(terminal.modes != before)
        let screen = try await rig.client.openScreen("/run/r1/mate/영희", mode: .ask)
        try await rig.client.publish("/run/r1/mate/영희/finished", options: PublishOptions(window: .seconds(1)))
        // Some of the time is over, and some is left.
        #expect(try await terminal.shows { $0.contains(/\[=+ +\]/) })
        #expect(try await terminal.shows("Screens (1)"))
        #expect(try await terminal.shows("shown"))
        terminal.type("q")
        #expect(await top.waitForExit() == .code(0))
        #expect(try await terminal.shows(PseudoTerminal.leaving))
        #expect(terminal.text.hasSuffix(PseudoTerminal.leaving))
        #expect(terminal.modes == before)
        await screen.close()
    }

    @Test(.rig, arguments: [SIGTERM, SIGHUP, SIGINT])
    func topGivesTheTerminalBackWhateverEndsIt(_ signal: CInt) async throws {
        let terminal = try PseudoTerminal()
        let before = terminal.modes
        let top = try terminal.run(BuiltPrograms.notifyctl, ["top"], environment: rig.onTerminal())
        #expect(try await terminal.shows("Recent outcomes"))
        if signal == SIGINT { terminal.type("\u{3}") } else { top.signal(signal) }
        #expect(await top.waitForExit() == .code(0))
        #expect(try await terminal.shows(PseudoTerminal.leaving))
        #expect(terminal.modes == before)
    }

    @Test(.rig, arguments: [("top", SIGTERM), ("inbox", SIGTERM), ("inbox", SIGHUP), ("inbox", SIGINT)])
    func aTerminalThatIsStoppedDoesNotKeepAProgramFromEnding(_ command: String, _ signal: CInt) async throws {
        let terminal = try PseudoTerminal()
        let before = terminal.modes
        let program = try terminal.run(BuiltPrograms.notifyctl, [command], environment: rig.onTerminal())
        #expect(try await terminal.shows(command == "top" ? "Recent outcomes" : "Nothing unread."))
        // Ctrl-S: what is drawn now blocks, and so does what leaves the screen.
        terminal.type("\u{13}")
        terminal.resize(columns: 70, rows: 20)
        program.signal(signal)
        #expect(await program.waitForExit() == .code(0))
        #expect(try await terminal.shows { $0.hasSuffix(PseudoTerminal.leaving) })
        #expect(terminal.modes == before)
    }

    @Test(.rig, arguments: ["top", "inbox"])
    func aTerminalThatNobodyReadsIsGivenBackAllTheSame(_ command: String) async throws {
        let terminal = try PseudoTerminal(columns: 200, rows: 60)
        let before = terminal.modes
        let program = try terminal.run(BuiltPrograms.notifyctl, [command], environment: rig.onTerminal())
        #expect(try await terminal.shows(command == "top" ? "Recent outcomes" : "Nothing unread."))
        terminal.setRead(false)
        // Each size is drawn, until the terminal takes nothing any more.
        try await rig.until("the program waits for the terminal") {
            for columns in 150...200 { terminal.resize(columns: UInt16(columns), rows: 60) }
            return !terminal.takesMore
        }
        program.signal(SIGTERM)
        #expect(await program.waitForExit() == .code(0))
        terminal.setRead(true)
        #expect(try await terminal.shows { $0.hasSuffix(PseudoTerminal.leaving) })
        #expect(terminal.modes == before)
    }

    @Test(.rig) func topGoesOnOverARestartAndFollowsTheSizeOfTheTerminal() async throws {
        let terminal = try PseudoTerminal()
        let top = try terminal.run(BuiltPrograms.notifyctl, ["top"], environment: rig.onTerminal())
        #expect(try await terminal.shows("banners on"))
        await rig.daemon.stop()
        #expect(try await terminal.shows("notifyd is not running"))
        let gone = terminal.text.count
        try await rig.daemon.start()
        #expect(try await terminal.shows("banners on", after: gone))
        let wide = terminal.text.count
        terminal.resize(columns: 30, rows: 10)
        #expect(try await terminal.shows("each second: 0.0 events, 0.0 …", after: wide))
        terminal.type("q")
        #expect(await top.waitForExit() == .code(0))
    }

    @Test(.rig) func topIsOnePictureWhereThereIsNoTerminal() async throws {
        try await rig.client.publish("/post/27", options: PublishOptions(window: .seconds(60)))
        #expect(try await rig.outcome(ofEventAt: "/post/28") == "shown")
        let picture = try await rig.run("top")
        #expect(picture.exit == .code(0))
        #expect(picture.output.contains { $0.hasPrefix("  /post/27  ") && $0.contains(" ms  [") })
        #expect(picture.output.contains { $0.contains("  shown  /post/28") })
        #expect(!picture.output.joined().contains("\u{1b}"))
        // The claims are those of `status`, also those of outcomes that are not listed any more.
        for number in 1...40 { try await rig.client.claim(try await rig.client.send("/post/\(number)")) }
        func claims(_ command: String) async throws -> String? {
            let output = try await rig.run(command, "--json=short").output.joined()
            return output.firstRange(of: #""all":"#).map { String(output[$0.upperBound...].prefix { $0 != "}" }) }
        }
        let counted = try #require(try await claims("status"))
        #expect(counted.contains(#""claims":40,"#))
        #expect(try await claims("top") == counted)
        let series = try await rig.run("top", "-n", "2", "--json=short")
        #expect(series.output.map { $0.contains(#""rates":null"#) } == [true, false])
        await rig.daemon.stop()
        #expect(try await rig.run("top").exit == .code(69))
    }

    /// A shell, its jobs and a terminal with a real screen.
    @Test(.rig, arguments: ["top", "inbox"]) func aFullScreenProgramIsAJobOfItsShell(_ command: String) async throws {
        let folder = try TemporaryFolder()
        let base = ["-S", folder.path + "/tmux", "-f", "/dev/null"]
        let environment = rig.onTerminal(["SHELL": "/bin/sh", "LC_ALL": "C.UTF-8"])
        // Not as a daemon, so that it ends with us.
        let server = try ChildProcess("tmux", base + ["-D"], environment: environment)
        func tmux(_ arguments: String...) async throws -> String? {
            let client = try ChildProcess(
                "tmux", base + ["-N"] + arguments, environment: environment, capturing: [1, 2])
            guard await client.waitForExit() == .code(0) else { return nil }
            return await client.allLines(of: 1)?.joined(separator: "\n")
        }
        func shows(_ fact: String, _ isRight: (String) -> Bool) async throws {
            try await rig.until(fact) { isRight(try await tmux("capture-pane", "-p") ?? "") }
        }
        func isOnOtherScreen(_ flag: Bool) async throws {
            try await rig.until(flag ? "\(command) has the terminal" : "the shell has the terminal") {
                try await tmux("display", "-p", "#{alternate_on} #{cursor_flag}") == (flag ? "1 0" : "0 1")
            }
        }
        try await rig.until("tmux runs") {
            try await tmux("new-session", "-d", "-x", "80", "-y", "24", "bash --norc --noprofile") != nil
        }
        try await rig.client.publish("/run/r1/mate/영희/finished", options: PublishOptions(window: .seconds(60)))
        _ = try await tmux("send-keys", "echo $((40 + 2)); notifyctl \(command)", "Enter")
        try await shows("the event is seen") { $0.contains("/run/r1/mate/영희/finished") }
        try await isOnOtherScreen(true)
        _ = try await tmux("send-keys", "C-z")
        try await shows("the shell is back as it was") {
            $0.contains("Stopped") && $0.contains("42") && !$0.contains("/run/r1")
        }
        try await isOnOtherScreen(false)
        _ = try await tmux("send-keys", "fg", "Enter")
        try await shows("it is back") { $0.contains("/run/r1/mate/영희/finished") }
        try await isOnOtherScreen(true)
        // In the background it leaves the terminal to the shell, however it came there.
        try await rig.until("it is suspended") {
            _ = try await tmux("send-keys", "C-z")
            return try await tmux("display", "-p", "#{alternate_on}") == "0"
        }
        _ = try await tmux("send-keys", "clear; bg", "Enter")
        func isStopped() async throws {
            try await rig.until("it is stopped") {
                _ = try await tmux("send-keys", "clear; jobs -l", "Enter")
                return try await tmux("capture-pane", "-p")?.contains("Stopped (tty output)") == true
            }
            try await isOnOtherScreen(false)
        }
        try await isStopped()
        _ = try await tmux("send-keys", "fg", "Enter")
        try await isOnOtherScreen(true)
        _ = try await tmux("send-keys", "q")
        try await isOnOtherScreen(false)
        _ = try await tmux("send-keys", "clear; notifyctl \(command) &", "Enter")
        try await isStopped()
        _ = try await tmux("send-keys", "fg", "Enter")
        try await isOnOtherScreen(true)
        try await shows("it is there") { $0.contains("/run/r1/mate/영희/finished") }
        _ = try await tmux("send-keys", "q")
        try await isOnOtherScreen(false)
        // The shell still echoes what is typed.
        _ = try await tmux("send-keys", "clear; echo $((50 + 3))", "Enter")
        try await shows("the shell works") { $0.contains("53") }
        _ = try await tmux("send-keys", "notifyctl \(command) &", "Enter")
        try await isStopped()
        _ = try await tmux("send-keys", "clear; kill %1; wait; echo ended $((60 + 4))", "Enter")
        try await shows("it can be ended where it is stopped") { $0.contains("ended 64") }
        try await isOnOtherScreen(false)
        await server.end()
    }

    // MARK: Lists

    @Test(
        .rig,
        arguments: [
            ([:], true), (["NO_COLOR": "1"], false), (["NO_COLOR": ""], true), (["TERM": "dumb"], false),
        ])
    func historyFitsTheTerminalAndIsColouredWhereItMayBe(_ more: [String: String], _ isColoured: Bool) async throws {
        try await rig.client.publish("/run/r1/mate/영희/finished", title: "👩‍👩‍👧 영희가 5 km를 뛰었다", body: "축하해요 🎉")
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "shown")
        let terminal = try PseudoTerminal(columns: 60)
        let history = try terminal.run(BuiltPrograms.notifyctl, ["history"], environment: rig.onTerminal(more))
        #expect(await history.waitForExit() == .code(0))
        #expect(try await terminal.shows("/post/27"))
        #expect(terminal.text.contains("\u{1b}[33mshown") == isColoured)
        let lines = terminal.text.replacing(/\u{1b}\[\d*m/, with: "").split(separator: "\r\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.columns <= 60 })
        #expect(lines.first?.hasSuffix("…") == true)
        #expect(lines.first?.contains(" ago") == true || lines.first?.hasPrefix("now") == true)
    }
}

extension PseudoTerminal {
    /// How a program takes the whole screen, and hides the cursor.
    static let entering = "\u{1b}[?1049h\u{1b}[?25l"
    static let leaving = "\u{1b}[?25h\u{1b}[?1049l"
}

extension Rig {
    /// The environment of a program on a terminal.
    func onTerminal(_ more: [String: String] = [:]) -> [String: String] {
        environment.merging(["TERM": "xterm-256color"]) { $1 }.merging(more) { $1 }
    }
}
