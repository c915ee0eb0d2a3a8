import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import notifyctl

/// `notifyctl inbox` with a real daemon, on a pseudo-terminal and elsewhere.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct InboxTests {
    private let rig: Rig! = Fixture.current()
    private let bus: PrivateBus! = Fixture.current()

    /// The lines of the last picture.
    private func picture(_ terminal: PseudoTerminal) -> [String] {
        let frame = terminal.text.split(separator: "\u{1b}[H").last ?? ""
        // The terminal puts a carriage return before each line feed.
        return frame.replacing(/\u{1b}\[[0-9;?]*[A-Za-z]/, with: "").split { $0.isNewline }.map(String.init)
    }

    private func shows(_ terminal: PseudoTerminal, _ isRight: ([String]) -> Bool) async throws -> Bool {
        try await terminal.shows { _ in isRight(picture(terminal)) }
    }

    @Test(.rig) func pushesComeAndWhatIsDecidedElsewhereGoes() async throws {
        let terminal = try PseudoTerminal()
        let before = terminal.modes
        let inbox = try terminal.run(BuiltPrograms.notifyctl, ["inbox"], environment: rig.onTerminal())
        #expect(try await terminal.shows("Nothing unread."))
        #expect(terminal.text.hasPrefix(PseudoTerminal.entering))
        let first = try await rig.client.publish("/post/27", title: "First", body: "\u{1b}[31mred")
        #expect(try await shows(terminal) { $0.contains { $0.hasPrefix("> ") && $0.contains("First – [31mred") } })
        try await rig.client.send("/post/28", title: "Second")
        #expect(try await shows(terminal) { $0.contains("/post/28") })
        // It is above, and the selection has not moved.
        #expect(picture(terminal).contains { $0.hasPrefix("> ") && $0.contains("First") })
        try await rig.client.claim(first)
        #expect(try await shows(terminal) { $0.contains { $0.hasPrefix("> ") && $0.contains("Second") } })
        #expect(!picture(terminal).joined().contains("First"))
        terminal.type("q")
        #expect(await inbox.waitForExit() == .code(0))
        #expect(try await terminal.shows { $0.hasSuffix(PseudoTerminal.leaving) })
        #expect(terminal.modes == before)
    }

    @Test(.rig) func keysReadClaimMuteExplainAndPress() async throws {
        let ids = [
            try await rig.client.send("/a/1", title: "One"), try await rig.client.send("/a/2", title: "Two"),
            try await rig.client.publish("/run/r1/invite", fields: ["from": "Mina"]),
            try await rig.client.send("/b", title: "Three"), try await rig.client.send("/b", title: "Four"),
        ]
        for id in ids { #expect(await rig.listener.resolution(of: id)?.outcome == "shown") }
        let terminal = try PseudoTerminal()
        let inbox = try terminal.run(BuiltPrograms.notifyctl, ["inbox"], environment: rig.onTerminal())
        #expect(try await shows(terminal) { $0.first == "Inbox   5 unread" })
        terminal.type("R")
        #expect(try await shows(terminal) { $0.last == "Read at and below /b: 2." })
        terminal.type("w")
        #expect(try await shows(terminal) { $0.contains { $0.contains("shown: ") } })
        terminal.type("x1")
        #expect(try await shows(terminal) { $0.last == "Pressed “Join”." })
        #expect(await rig.listener.resolution(of: ids[2])?.outcome == "retracted")
        terminal.type("m")
        #expect(try await shows(terminal) { $0.last?.hasPrefix("/a/2 is muted until ") == true })
        #expect(try await rig.client.quiet().map(\.topic) == ["/a/2"])
        terminal.type("m")
        #expect(try await shows(terminal) { $0.last == "/a/2 is not muted any more." })
        #expect(try await rig.client.quiet().isEmpty)
        terminal.type("m")
        #expect(try await shows(terminal) { $0.last?.hasPrefix("/a/2 is muted until ") == true })
        terminal.type("c")
        #expect(try await shows(terminal) { $0.last == "Claimed: retracted." })
        terminal.type("r")
        #expect(try await shows(terminal) { $0.contains("Nothing unread.") })
        #expect(try await rig.client.unread() == 0)
        // Muted events have no outcome that tells when they are read.
        let muted = try await rig.client.send("/a/2", title: "Muted")
        #expect(await rig.listener.resolution(of: muted)?.outcome == "muted")
        #expect(try await shows(terminal) { $0.contains { $0.contains("muted  Muted") } })
        try await rig.client.markRead("/a")
        #expect(try await shows(terminal) { $0.contains("Nothing unread.") })
        terminal.type("\u{3}")
        #expect(await inbox.waitForExit() == .code(0))
    }

    @Test func aCommandThatCannotBeStartedIsTold() async throws {
        let route = """
            [[route]]
            topic = "/build/{id}"
            actions = [ { key = "again", label = "Build again", exec = ["/nonexistent/prog"] } ]
            """
        try await withRig(configuration: route) { rig in
            try await rig.client.send("/build/1", title: "Failed")
            let terminal = try PseudoTerminal()
            let inbox = try terminal.run(BuiltPrograms.notifyctl, ["inbox"], environment: rig.onTerminal())
            #expect(try await shows(terminal) { $0.contains { $0.contains("Failed") } })
            terminal.type("b")
            #expect(
                try await shows(terminal) {
                    $0.last?.contains("cannot be started") == true && $0.contains { $0.contains("Failed") }
                })
            terminal.type("q")
            #expect(await inbox.waitForExit() == .code(0))
        }
    }

    @Test func aMuteSaysThatItsRouteBreaksThrough() async throws {
        let route = "[[route]]\ntopic = \"/alarm/{id}\"\nbreak_through = true\n"
        try await withRig(configuration: route) { rig in
            try await rig.client.send("/alarm/x", title: "Fire")
            try await rig.client.send("/post/1", title: "Post")
            #expect(try await rig.client.inbox().map(\.breaksThrough) == [false, true])
            let terminal = try PseudoTerminal(columns: 120)
            let inbox = try terminal.run(BuiltPrograms.notifyctl, ["inbox", "/alarm"], environment: rig.onTerminal())
            #expect(try await shows(terminal) { $0.contains { $0.contains("Fire") } })
            terminal.type("m")
            #expect(
                try await shows(terminal) {
                    $0.last?.hasPrefix("/alarm/x is muted until ") == true
                        && $0.last?.hasSuffix(", but its banners still come: its route has break_through.") == true
                })
            terminal.type("q")
            #expect(await inbox.waitForExit() == .code(0))
            // The command reads the routes from the configuration on disk.
            let environment = rig.environment.merging(rig.daemon.environment) { $1 }
            func notifyctl(_ arguments: String...) async throws -> [String] {
                let process = try ChildProcess(
                    BuiltPrograms.notifyctl, arguments, environment: environment, capturing: [1, 2])
                #expect(await process.waitForExit() == .code(0))
                return await process.allLines(of: 1) ?? []
            }
            let sentence = "Banners still come from routes with break_through: /alarm/{id}."
            #expect(try await notifyctl("mute", "/alarm/x", "1h") == [sentence])
            #expect(try await notifyctl("mute", "/alarm", "1h") == [sentence])
            #expect(try await notifyctl("mute", "/post", "1h") == [])
            #expect(try await notifyctl("pause") == [sentence])
            #expect(try await notifyctl("pause", "1h") == [sentence])
            #expect(
                try await notifyctl("mute", "/alarm/x", "1h", "--json=short")[0].hasSuffix(
                    #""break-through":["/alarm/{id}"]}"#))
        }
    }

    @Test(.rig) func itGoesOnOverARestartAndFollowsTheSizeOfTheTerminal() async throws {
        let id = try await rig.client.send("/run/r1/mate/영희/finished", title: "영희가 5 km를 뛰었다, 축하해요")
        #expect(await rig.listener.resolution(of: id)?.outcome != nil)
        let terminal = try PseudoTerminal(columns: 40, rows: 8)
        let inbox = try terminal.run(
            BuiltPrograms.notifyctl, ["inbox", "/"], environment: rig.onTerminal(["NO_COLOR": "1"]))
        #expect(try await terminal.shows("영희가"))
        #expect(!terminal.text.contains("\u{1b}[1m"))
        await rig.daemon.stop()
        #expect(try await terminal.shows("notifyd is not running"))
        try await rig.daemon.start()
        #expect(try await shows(terminal) { !$0.joined().contains("not running") })
        terminal.resize(columns: 24, rows: 5)
        #expect(try await shows(terminal) { $0.count == 4 && $0.allSatisfy { $0.columns <= 24 } })
        #expect(await inbox.end() == .code(0))
        #expect(try await terminal.shows { $0.hasSuffix(PseudoTerminal.leaving) })
    }

    @Test(.rig) func thousandsOfEventsAreReadInPages() async throws {
        try await rig.client.mute("/", for: .seconds(600))
        for number in 1...700 {
            try await rig.client.publish("/n/\(number)", title: "N", options: PublishOptions(window: .zero))
        }
        try await rig.until("all are muted") { try await rig.client.unread() == 700 }
        let terminal = try PseudoTerminal()
        let inbox = try terminal.run(BuiltPrograms.notifyctl, ["inbox"], environment: rig.onTerminal())
        #expect(try await shows(terminal) { $0.contains("/n/700") })
        // Neither the last event nor what a filter finds depends on the pages that were read before.
        terminal.type("G")
        #expect(try await shows(terminal) { $0.contains("/n/1") })
        terminal.type("g/n/12\r")
        #expect(try await shows(terminal) { $0.first == "Inbox   11 of 700 unread   with “n/12”" })
        terminal.type("q")
        #expect(await inbox.waitForExit() == .code(0))
        let other = try PseudoTerminal()
        let filtered = try other.run(BuiltPrograms.notifyctl, ["inbox"], environment: rig.onTerminal())
        #expect(try await shows(other) { $0.contains("/n/700") })
        other.type("/n/12\r")
        #expect(try await shows(other) { $0.first == "Inbox   11 of 700 unread   with “n/12”" })
        other.type("q")
        #expect(await filtered.waitForExit() == .code(0))
    }

    @Test(.rig) func elsewhereItIsAListNewestFirst() async throws {
        #expect(try await rig.run("inbox").exit == .code(1))
        #expect(try await rig.run("inbox", "--json=short").output == ["[]"])
        let buttons = BannerOptions(app: "Fotos", icon: "camera", buttons: [.init(key: "a", label: "Open")])
        try await rig.client.publish(
            "/post/27", title: "Nice!", body: "b", options: PublishOptions(urgency: .critical, appearance: buttons))
        let id = try await rig.client.publish("/run/r1/invite", fields: ["from": "Mina"])
        #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
        let list = try await rig.run("inbox")
        #expect(list.exit == .code(0))
        #expect(list.output.count == 2)
        #expect(list.output[0].hasSuffix("/run/r1/invite  Mina invites you to a run  → shown"))
        #expect(list.output[1].hasSuffix("/post/27  Nice!  – b  → shown"))
        #expect(try await rig.run("inbox", "-n", "1").output == [list.output[0]])
        #expect(try await rig.run("inbox", "-n", "0").output == list.output)
        #expect(try await rig.run("inbox", "/post").output == [list.output[1]])
        let json = try await rig.run("inbox", "/post", "--json=short").output.joined()
        #expect(json.hasPrefix(#"[{"id":"#))
        #expect(
            json.contains(
                #""outcome":"shown","app":"Fotos","icon":"camera","urgency":"critical","#
                    + #""actions":[{"key":"a","label":"Open"}]}]"#
            ))
        #expect(try await rig.run("inbox", "--json=pretty").output.first == "[")
        #expect(try await rig.run("inbox", "post").exit == .code(65))
        await rig.daemon.stop()
        #expect(try await rig.run("inbox").exit == .code(69))
    }

    // MARK: Status bars

    @Test(.rig) func aStatusBarHearsOfEveryChangeOverARestart() async throws {
        let bar = try ChildProcess(
            BuiltPrograms.notifyctl, ["inbox", "--follow", "polybar"], environment: rig.environment, capturing: [1])
        func shows(_ line: String) async -> Bool {
            await bar.lines(of: 1).next(within: .seconds(10), where: { $0 == line }) != nil
        }
        #expect(await shows(""))
        let id = try await rig.client.send("/post/27", title: "Nice!")
        #expect(await shows("1 · Nice!"))
        try await rig.client.setPaused(true)
        #expect(await shows("1 (quiet) · Nice!"))
        await rig.daemon.stop()
        #expect(await shows("(absent)"))
        try await rig.daemon.start()
        #expect(await shows("1 (quiet) · Nice!"))
        try await rig.client.setPaused(false)
        try await rig.client.claim(id)
        #expect(await shows(""))
        bar.signal(SIGTERM)
        #expect(await bar.waitForExit() == .code(0))
    }

    @Test(.privateBus) func aStatusBarTellsThatNothingIsAccepted() async throws {
        let daemon = try DaemonProcess(BuiltPrograms.notifyd, on: bus)
        try daemon.folder.write("no folder", to: "state/notifyd")
        try await daemon.start()
        let bar = try ChildProcess(
            BuiltPrograms.notifyctl, ["inbox", "--follow", "json", "--address", bus.address],
            environment: ChildProcess.currentEnvironment, capturing: [1])
        let line = await bar.lines(of: 1).next(within: .seconds(10))
        #expect(line?.hasPrefix(#"{"running":true,"unread":0,"#) == true)
        #expect(line?.hasSuffix(#""trouble":true}"#) == true)
        await bar.end()
        await daemon.stop()
    }

    @Test(.rig) func aBurstIsAFewLines() async throws {
        let bar = try ChildProcess(
            BuiltPrograms.notifyctl, ["inbox", "/n", "--follow", "json"], environment: rig.environment,
            capturing: [1])
        #expect(await bar.lines(of: 1).next(within: .seconds(10)) != nil)
        let start = ContinuousClock.now
        for number in 1...200 { try await rig.client.send("/n/\(number)", title: "N") }
        try await rig.client.send("/elsewhere", title: "N")
        let isLast: @Sendable (String) -> Bool = { $0.hasPrefix(#"{"running":true,"unread":200,"#) }
        #expect(await bar.lines(of: 1).next(within: .seconds(20), where: isLast) != nil)
        let most = Int((ContinuousClock.now - start) / .milliseconds(200)) + 2
        #expect(bar.lines(of: 1).all.count <= most)
        await bar.end()
        #expect(try await rig.run("inbox", "--follow", "waybar", "-n", "1").exit == .code(64))
        #expect(try await rig.run("inbox", "post", "--follow", "waybar").exit == .code(65))
    }

    @Test(.rig) func itEndsQuietlyWithItsReader() async throws {
        let shell = try ChildProcess(
            "/bin/bash",
            ["-c", "\(BuiltPrograms.notifyctl) inbox --follow json | head -n 1; echo ${PIPESTATUS[0]}"],
            environment: rig.environment, capturing: [1, 2])
        #expect(await shell.lines(of: 1).next(within: .seconds(10)) != nil)
        // The pipe breaks with the next line that is written.
        try await rig.until("it has ended") {
            try await rig.client.send("/n", title: "N")
            return await shell.waitForExit(within: .milliseconds(300)) != nil
        }
        #expect(await shell.allLines(of: 1)?.last == "141")
        #expect(await shell.allLines(of: 2)?.isEmpty == true)
    }
}
