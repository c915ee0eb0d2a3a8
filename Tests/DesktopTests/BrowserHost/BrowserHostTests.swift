import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import NotifyText
import Testing

/// The host among a real bus and a real notifyd, with a stand-in for the browser.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BrowserHostTests {
    private let rig: Rig! = Fixture.current()
    private let browser: StandInBrowser! = Fixture.current()
    private let folder: TemporaryFolder! = Fixture.current()
    private static let rules = """
        [[site]]
        address = "https://example.org/posts/{id}"
        topic = "/post/{id}"

        [[site]]
        address = "https://chat.example/**"
        topic = "/chat"
        state = "visible"

        [[page]]
        origin = "https://example.org"
        topics = ["/post"]
        """

    fileprivate static func withHost(
        reads: Bool = true, _ body: (Rig, StandInBrowser, TemporaryFolder) async throws -> Void
    ) async throws {
        try await withRig { rig in
            let folder = try TemporaryFolder()
            try folder.write(rules, to: "notifyd/browser.toml")
            let browser = try StandInBrowser(on: rig.bus, configuration: folder, reads: reads)
            try await body(rig, browser, folder)
            browser.close()
            #expect(await browser.host.waitForExit(within: .seconds(30)) != nil)
        }
    }

    private func until(_ rig: Rig, _ screens: [String: Screen.State]) async throws {
        try await waitUntil("the screens are \(screens)", within: .seconds(30), rig.daemon) {
            let open = try await rig.client.screens().map { ($0.topic, $0.state) }
            return Dictionary(open) { $1 } == screens && open.count == screens.count
        }
    }

    @Test(.host) func theTabThatIsLookedAtHoldsTheScreenOfItsAddress() async throws {
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/27"))
        let report = await browser.report { $0["screen"] == .string("open") }
        #expect(report?["topic"] == .string("/post/27"))
        #expect(report?["rule"] == .string("[[site]]\naddress = \"https://example.org/posts/{id}\""))
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "claimed")
        browser.show(StandInBrowser.tab(2, "https://example.org/posts/28"))
        try await until(rig, ["/post/28": .focused])
        browser.show(StandInBrowser.tab(2, "https://example.org/posts/28", focused: false))
        try await until(rig, [:])
        #expect(try await rig.outcome(ofEventAt: "/post/28") == "shown")
    }

    @Test(.host) func aVisibleTabIsHeldAsItIsSeen() async throws {
        let post = StandInBrowser.tab(1, "https://example.org/posts/27")
        browser.show(post, StandInBrowser.tab(2, "https://chat.example/", focused: false))
        try await until(rig, ["/post/27": .focused, "/chat": .visible])
        browser.show(StandInBrowser.tab(2, "https://chat.example/red"))
        try await until(rig, ["/chat": .focused])
        browser.show(StandInBrowser.tab(2, "https://chat.example/red", focused: false, visible: false))
        try await until(rig, [:])
    }

    @Test(.host) func whatAPageSaysByItselfCountsOnlyWhereItIsAllowed() async throws {
        browser.show(StandInBrowser.tab(1, "https://example.org/", topic: "/post/31"))
        try await until(rig, ["/post/31": .focused])
        browser.show(StandInBrowser.tab(1, "https://evil.example/", topic: "/post/31"))
        let report = await browser.report { $0["asks"] == .string("/post/31") }
        #expect(report?["lines"] == .string("[[page]]\norigin = \"https://evil.example\"\ntopics = [\"/post\"]"))
        try await until(rig, [:])
    }

    @Test(.host) func aKilledBrowserLeavesNoScreen() async throws {
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/27"))
        try await until(rig, ["/post/27": .focused])
        browser.close()
        #expect(await browser.host.waitForExit(within: .seconds(30)) == .code(0))
        try await until(rig, [:])
    }

    @Test(.host) func aKilledHostLeavesNoScreen() async throws {
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/27"))
        try await until(rig, ["/post/27": .focused])
        browser.host.signal(SIGKILL)
        try await until(rig, [:])
    }

    @Test(.host) func afterARestartOfNotifydTheScreensAreOpenedAgain() async throws {
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/27"))
        try await until(rig, ["/post/27": .focused])
        await rig.daemon.kill()
        #expect(await browser.report { $0["screen"] == .string("waiting") } != nil)
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/28"))
        try await rig.daemon.start()
        try await until(rig, ["/post/28": .focused])
        #expect(await browser.report { $0["screen"] == .string("open") } != nil)
    }

    @Test(.host) func thatNotifydTakesLongToAnswerIsReported() async throws {
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/27"))
        #expect(await browser.report { $0["screen"] == .string("open") } != nil)
        rig.daemon.signal(SIGSTOP)
        browser.show(StandInBrowser.tab(2, "https://example.org/posts/28"))
        try await waitUntil("that is reported", within: .seconds(30), rig.daemon) {
            browser.reports.all.last?["tabs"]?.elements?.first?["screen"]?.string == "opening"
        }
        rig.daemon.signal(SIGCONT)
        #expect(await browser.report(of: 2) { $0["screen"] == .string("open") } != nil)
    }

    @Test(.host) func theRulesAreReadAgainWhenATabChanges() async throws {
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/27"))
        try await until(rig, ["/post/27": .focused])
        try folder.write(Self.rules.replacing("/post/", with: "/article/"), to: "notifyd/browser.toml")
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/27"))
        try await until(rig, ["/article/27": .focused])
        // With a mistake, what was in force stays in force.
        try folder.write(Self.rules.replacing("\"visible\"", with: "\"hidden\""), to: "notifyd/browser.toml")
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/28"))
        try await until(rig, ["/article/28": .focused])
        let report = await browser.reports.next(within: .seconds(30)) { $0["mistake"] != nil }
        #expect(report?["mistake"]?.string?.contains("it is \"hidden\"") == true)
        #expect(
            await browser.host.lines(of: 2).next(within: .seconds(30)) { $0.contains("browser.toml:") } != nil)
        unlink(folder.path + "/notifyd/browser.toml")
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/29"))
        try await until(rig, [:])
    }

    @Test(.host(reads: false)) func aBrowserThatDoesNotReadIsServed() async throws {
        for number in 1...3000 { browser.show(StandInBrowser.tab(1, "https://example.org/posts/\(number)")) }
        try await until(rig, ["/post/3000": .focused])
    }

    // MARK: What is not a message

    private static let misunderstood: [([UInt8], String)] = [
        (Array("{".utf8), "a message is not JSON"),
        ([], "a message is not JSON"),
        ([0xFF], "the text is not UTF-8"),
        (Array("{}".utf8), "has no 'version'"),
        (Array(#"{"version":2,"tabs":[]}"#.utf8), "update the older one"),
        (Array(#"{"version":1}"#.utf8), "has no list 'tabs'"),
        (Array(#"{"version":1,"tabs":[{"id":1}]}"#.utf8), "a tab has a number 'id'"),
        (Array(repeating: UInt8(ascii: "["), count: 65_000), "levels are nested"),
        (Array(repeating: UInt8(ascii: " "), count: 65_537), "this one has 65537"),
    ]

    @Test(.host, arguments: misunderstood)
    func whyAMessageIsNotUnderstoodIsToldOnce(_ message: [UInt8], _ reason: String) async throws {
        browser.send(message)
        browser.send(message)
        let report = await browser.reports.next(within: .seconds(30)) { $0["passed_over"] == .integer(2) }
        #expect(report?["tabs"] == .array([]))
        browser.close()
        #expect(await browser.host.waitForExit(within: .seconds(30)) == .code(0))
        let errors = await browser.host.allLines(of: 2) ?? []
        #expect(errors.count == 1 && errors[0].contains(reason), "\(errors)")
    }

    @Test(.host) func amongMessagesThatAreNotUnderstoodTheOthersCount() async throws {
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/27"))
        try await until(rig, ["/post/27": .focused])
        for (message, _) in Self.misunderstood { browser.send(message) }
        let count = Self.misunderstood.count
        let report = await browser.reports.next(within: .seconds(30)) { $0["passed_over"] == .integer(count) }
        #expect(report?["tabs"]?.elements?.count == 1)
        try await until(rig, ["/post/27": .focused])
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/28"))
        try await until(rig, ["/post/28": .focused])
    }

    @Test(.host) func whatHasNoMessagesEndsTheHost() async throws {
        browser.sendRaw(Array("what".utf8))
        #expect(await browser.host.waitForExit(within: .seconds(30)) == .code(EX_DATAERR))
        #expect(await browser.host.allLines(of: 2)?.joined().contains("was announced") == true)
    }

    @Test func withoutABusTheHostSaysSo() async throws {
        let host = try ChildProcess(
            "/bin/sh", ["-c", ": | \"$0\" chrome-extension://stand-in/", BuiltPrograms.notifydBrowser],
            environment: ["HOME": "/"], capturing: [1, 2])
        #expect(await host.waitForExit(within: .seconds(30)) == .code(EX_UNAVAILABLE))
        #expect(await host.allLines(of: 2)?.joined().contains("no session bus is known") == true)
    }

    @Test(arguments: [
        (": | \"$0\"", "Browsers start this program"),
        ("\"$0\" chrome-extension://stand-in/ < /dev/null", "Browsers start this program"),
        (": | \"$0\" /usr/lib/mozilla/org.notifyd.browser.json browser@notifyd.org", "no session bus"),
        ("\"$0\" --nothing", "“--nothing” is not an option"), ("\"$0\" word", "“word” is not an option"),
        ("\"$0\" --check-config --config", "--config needs a value"), ("\"$0\" --config x", "is for --check-config"),
        ("\"$0\" --check-config --config /nonexistent", "/nonexistent: there is no such file"),
    ]) func whoStartsItByHandIsTold(_ command: String, _ message: String) async throws {
        let host = try ChildProcess(
            "/bin/sh", ["-c", command, BuiltPrograms.notifydBrowser], environment: ["HOME": "/"], capturing: [1, 2])
        let code = await host.waitForExit(within: .seconds(30))
        #expect(code == .code(message.hasPrefix("no ") ? EX_UNAVAILABLE : message.hasPrefix("/") ? 78 : EX_USAGE))
        #expect(await host.allLines(of: 2)?.joined().contains(message) == true)
    }

    @Test func itChecksRules() async throws {
        let folder = try TemporaryFolder()
        let good = try folder.write(Self.rules, to: "good.toml")
        let bad = try folder.write("[[site]]\ntopic = \"/x\"\n\n[[page]]\norigin = \"x\"\n", to: "bad.toml")
        for (file, code, lines) in [
            (good, 0, ["\(good) is good: 3 rules."]), (bad, 78, ["notifyd-browser: \(bad):1:"]),
        ] as [(String, CInt, [String])] {
            let check = try ChildProcess(
                BuiltPrograms.notifydBrowser, ["--check-config", "--config", file], environment: ["HOME": "/"],
                capturing: [1, 2])
            #expect(await check.waitForExit(within: .seconds(30)) == .code(code))
            let told = await check.allLines(of: code == 0 ? 1 : 2) ?? []
            #expect(told.first?.hasPrefix(lines[0]) == true)
            #expect(code == 0 || told.count > 1 && told.allSatisfy { $0.hasPrefix("notifyd-browser: ") })
        }
    }

    @Test(.host) func itsClaimsAreSaidToBeThoseOfTheBrowser() async throws {
        browser.show(StandInBrowser.tab(1, "https://example.org/posts/27"))
        try await until(rig, ["/post/27": .focused])
        let id = try await rig.client.publish("/post/27")
        var program: String?
        try await waitUntil("the claim has a program", within: .seconds(30), rig.daemon) {
            program = try await rig.client.explain(id).claims.first?.program
            return program != nil
        }
        #expect(program != "notifyd-browser")
    }
}

extension Trait where Self == Fixture {
    fileprivate static var host: Self { host() }

    fileprivate static func host(reads: Bool = true) -> Self {
        Fixture { try await BrowserHostTests.withHost(reads: reads, $0) }
    }
}
