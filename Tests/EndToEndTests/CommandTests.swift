import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Each command of `notifyctl` as a process: what it prints, what it complains about, how it ends.
@Suite(.serialized, .timeLimit(.minutes(1))) struct CommandTests {
    private let rig: Rig! = Fixture.current()
    private let bus: PrivateBus! = Fixture.current()

    /// For what must be claimed in time, on a machine that is busy with other tests.
    private static let long = PublishOptions(window: .seconds(1))

    // MARK: screen

    @Test(.rig) func aScreenLastsAsLongAsItsCommandAndPassesItsCodeOn() async throws {
        let process = try rig.startScript(
            """
            notifyctl screen /post/27 --state visible -- sh -c '
                notifyctl send /post/27 "while it runs" --wait; exit 7'
            echo "code $?"; notifyctl send /post/27 afterwards --wait
            """)
        let lines = try #require(await process.allLines(of: 1))
        #expect(lines.count == 5)
        #expect(lines[1].hasPrefix("claimed by "))
        #expect(lines[1].contains(" (:1."))
        #expect(lines[2] == "code 7")
        #expect(lines[4].hasPrefix("shown"))
        #expect(await process.allLines(of: 2) == [])
    }

    /// The daemon asks the bus for the program of a claimant when it claims for the first time.
    @Test(.rig) func theFirstClaimOfAProgramNamesIt() async throws {
        let listener = try await rig.subscriber(to: "/post") { try rig.start("listen", "/post", "--claim") }
        let lines = try await rig.run("send", "/post/1", "one", "--wait", "--window", "1s").output
        #expect(lines.last?.hasPrefix("claimed by notifyctl (:1.") == true)
        await listener.end()
    }

    @Test(.rig) func aCommandThatCannotBeStartedIs127() async throws {
        let result = try await rig.run("screen", "/post/27", "--", "/nowhere/program", "--option")
        #expect(result.exit == .code(127))
        #expect(result.errors.first?.contains("/nowhere/program") == true)
        #expect(try await rig.client.screens().isEmpty)
    }

    @Test(.rig, arguments: [SIGTERM, SIGINT])
    func aSignalClosesAScreenCleanly(_ signal: CInt) async throws {
        let (closings, monitor) = try await rig.calls(of: "CloseScreen")
        let process = try rig.start("screen", "/post/27", "--json=short")
        let opened = await process.lines(of: 1).next(within: .seconds(10))
        let screen = try #require(try await rig.client.screens().first)
        #expect(opened == #"{"screen":\#(screen.id),"topic":"/post/27"}"#)
        process.signal(signal)
        #expect(await process.waitForExit() == .code(0))
        #expect(await closings.next(within: .seconds(5))?.arguments == [.uint64(screen.id)])
        #expect(await process.allLines(of: 2) == [])
        monitor.close()
    }

    @Test(.rig) func aSignalGoesOnToTheCommandOfAScreen() async throws {
        let process = try rig.start(
            "screen", "/post/27", "--", "sh", "-c",
            "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
        #expect(await process.lines(of: 1).next(within: .seconds(10)) == "ready")
        process.signal(SIGTERM)
        #expect(await process.waitForExit() == .code(3))
        #expect(await process.lines(of: 1).next(within: .seconds(5)) == "asked")
        #expect(try await rig.client.screens().isEmpty)
    }

    @Test func aScreenThatAsksReadsItsAnswers() async throws {
        let configuration = "[[route]]\ntopic = \"/chat/{room}\"\nwait = \"screens\"\nwindow = \"20s\"\n"
        try await withRig(configuration: configuration) { rig in
            let script = """
                mkfifo "$1/answers"
                notifyctl screen /chat --mode ask --json=short < "$1/answers" | {
                    exec 3> "$1/answers"
                    read -r opened; echo "$opened"
                    while read -r event; do
                        id=${event#*:}; id=${id%%,*}
                        case $event in *mine*) echo "claim $id" >&3 ;; *) echo "pass $id" >&3 ;; esac
                    done
                }
                """
            let folder = try TemporaryFolder()
            let process = try rig.startScript(script, folder.path)
            #expect(await process.lines(of: 1).next(within: .seconds(10)) != nil)
            #expect(try await rig.outcome(ofEventAt: "/chat/a", title: "mine") == "claimed")
            #expect(try await rig.outcome(ofEventAt: "/chat/b", title: "yours") == "shown")
            process.signal(SIGTERM)
            _ = await process.waitForExit()
        }
    }

    @Test(.rig) func aScreenThatNobodyCanAnswerForSaysSo() async throws {
        let process = try rig.startScript("exec notifyctl screen /chat --mode ask < /dev/null")
        let complaint = await process.lines(of: 2).next(within: .seconds(10))
        #expect(complaint == "notifyctl: Standard input has ended, so this screen answers no event any more.")
        process.signal(SIGTERM)
        #expect(await process.waitForExit() == .code(0))
        #expect(await process.allLines(of: 2)?.count == 1)
    }

    // MARK: Claims

    @Test(.rig) func claimTopicPrintsHowMany() async throws {
        try await rig.client.publish("/post/27", options: PublishOptions(window: .seconds(60)))
        let claimed = try await rig.run("claim-topic", "/post", "--grace", "10s")
        #expect(claimed.exit == .code(0))
        #expect(claimed.output == ["1"])
        #expect(try await rig.outcome(ofEventAt: "/post/1") == "claimed")
        let again = try await rig.run("claim-topic", "/post/27", "--json=short")
        #expect(again.output == [#"{"topic":"/post/27","count":0}"#])
        // As “history” says where there is nothing.
        #expect(again.exit == .code(1))
        #expect(try await rig.run("claim-topic", "/nothing", "--grace", "1ms").exit == .code(0))
    }

    private static let mistakes: [([String], CInt, String)] = [
        (["claim", "4711"], 1, "there is no event 4711: it was deleted, or never existed"),
        (["show", "4711"], 1, "“notifyctl history” lists the events"),
        (["forget", "4711"], 1, "“notifyctl history” lists the events"),
        (["claim-topic", "/post", "--grace", "11s"], 64, "at most 10s"),
        (["claim-topic", "post"], 65, "start with '/'"),
        (["mark-read", "post"], 65, "start with '/'"),
        (["history", "post"], 65, "start with '/'"),
        (["listen", "post"], 65, "does not start with '/'"),
        (["watch", "post"], 65, "does not start with '/'"),
        (["screen", "post"], 65, "does not start with '/'"),
        (["focus", "--learn", "post"], 65, "does not start with '/'"),
        (["mute", "post", "10m"], 65, "start with '/'"),
        (["send", "poster"], 65, "Short forms are post, invite and mate-finished."),
        (["forget", "post"], 65, "neither a topic"),
        (["send", "/a\u{FFFE}"], 65, "In the topic, byte 3 is U+FFFE, which Unicode calls a noncharacter."),
        (["send", "/a", "xy\u{1FFFF}"], 65, "In the title, byte 3 is U+1FFFF"),
        (["send", "/a", "t", "\u{10FFFE}"], 65, "In the body, byte 1 is U+10FFFE"),
        (["send", "/a", "-f", "from=\u{2FFFE}"], 65, "In the field “from”, byte 1 is U+2FFFE"),
        (["send", "/a", "-f", "\u{FFFF}=x"], 65, "In the name of a field, byte 1 is U+FFFF"),
        (["send", "/a", "--app", "x\u{FFFF}"], 65, "In the option “app”, byte 2 is U+FFFF"),
        (["send", "/a", "--action", "a=\u{FFFF}"], 65, "In the option “actions”, byte 1 is U+FFFF"),
        (["listen", "/a\u{FFFE}"], 65, "byte 3 is U+FFFE"),
        (["watch", "/a\u{FFFE}"], 65, "byte 3 is U+FFFE"),
        (["screen", "/a\u{FFFE}"], 65, "byte 3 is U+FFFE"),
        (["history", "/a\u{FFFE}"], 65, "In the topic, byte 3 is U+FFFE"),
        (["mute", "/a\u{FFFE}", "10m"], 65, "In the topic, byte 3 is U+FFFE"),
        (["claim-topic", "/a\u{FFFE}"], 65, "In the topic, byte 3 is U+FFFE"),
        (["mark-read", "/a\u{FFFE}"], 65, "In the topic, byte 3 is U+FFFE"),
        (["forget", "/a\u{FFFE}"], 65, "In the topic, byte 3 is U+FFFE"),
        (["mute", "/post/", "10m"], 65, "'/'"),
        (["mute", "/post", "ten"], 64, "ten"),
        (["screen", "/post", "--mode", "guess"], 64, "guess"),
        (["screen", "/post", "--mode", "ask", "--", "cat"], 64, "takes no command"),
        (["listen", "--within", "5s"], 64, "--claim and --exec"),
        (["listen", "--claim", "--exec", "true", "--within", "11m"], 64, "10m"),
        (["status", "--address", "unix:path=/nowhere"], 69, "--address"),
    ]

    @Test(.rig) func whatIsWrongIsSaidWithItsExitCode() async throws {
        for (arguments, code, words) in Self.mistakes {
            let result = try await rig.run(arguments)
            #expect(result.code == code && result.output == [], "\(arguments)")
            #expect(result.errors.joined(separator: "\n").contains(words), "\(arguments): \(result.errors)")
        }
    }

    // MARK: listen

    @Test(.rig) func listeningClaimsWhatItsCommandHandled() async throws {
        let process = try await rig.subscriber(to: "/post") {
            try rig.start(
                "listen", "/post", "--claim", "--exec",
                #"echo "$NOTIFYD_VERDICT $NOTIFYD_TITLE"; [ "$NOTIFYD_TITLE" = good ]"#,
                "-n", "2", "--json=short")
        }
        #expect(try await rig.outcome(ofEventAt: "/post/1", title: "good", options: Self.long) == "claimed")
        #expect(try await rig.outcome(ofEventAt: "/post/2", title: "bad", options: Self.long) == "shown")
        #expect(await process.waitForExit() == .code(0))
        let lines = try #require(await process.allLines(of: 1))
        #expect(lines.filter { !$0.hasPrefix("{") } == ["suppressed good", "suppressed bad"])
        #expect(lines.count { $0.contains(#""verdict":"suppressed","held":true"#) } == 2)
        let errors = await process.allLines(of: 2)
        #expect(errors?.count == 1)
        #expect(errors?.first?.hasPrefix("notifyctl: The command ended with 1 for event ") == true)
    }

    @Test(.rig) func anEventThatIsOnlyHeldIsNotCalledSuppressed() async throws {
        let process = try await rig.subscriber(to: "/post") {
            try rig.start("listen", "/post", "--claim", "--exec", "false", "-n", "1")
        }
        let id = try await rig.client.publish("/post/1", title: "Title", options: Self.long)
        #expect(await process.waitForExit() == .code(0))
        #expect(await process.allLines(of: 1) == ["\(id)  /post/1  Title  → held"])
        #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
        let why = try await rig.run("why", "\(id)").output
        #expect(try await rig.client.explain(id).claims.map(\.form) == ["ClaimProvisionally", "Release"])
        #expect(why.contains { $0.contains(": held; released at") }, "\(why)")
    }

    @Test(.rig) func whatComesWhileACommandRunsWaitsForItsTurnWithoutABanner() async throws {
        let process = try await rig.subscriber(to: "/post") {
            try rig.start("listen", "/post", "--claim", "--exec", "sleep 0.3", "-n", "3")
        }
        var ids: [EventID] = []
        for number in 1...3 { ids.append(try await rig.client.publish("/post/\(number)", options: Self.long)) }
        #expect(await process.waitForExit() == .code(0))
        for id in ids { #expect(await rig.listener.resolution(of: id)?.outcome == "claimed") }
        #expect(rig.server.banners.all.isEmpty)
    }

    @Test(.rig) func aCommandThatTakesTooLongLetsTheBannerCome() async throws {
        let process = try await rig.subscriber(to: "/post") {
            try rig.start("listen", "/post", "--claim", "--exec", "sleep 2", "-n", "1", "--within", "1s")
        }
        #expect(try await rig.outcome(ofEventAt: "/post/1", options: Self.long) == "shown")
        #expect(await process.waitForExit() == .code(0))
        #expect(await process.allLines(of: 2)?.first?.contains("longer than 1 s") == true)
    }

    @Test(.rig) func listeningThatIsInterruptedReleasesWhatItHeld() async throws {
        let process = try await rig.subscriber(to: "/post") {
            try rig.start("listen", "/post", "--claim", "--exec", "echo held; exec sleep 30")
        }
        let id = try await rig.client.publish("/post/1", options: Self.long)
        #expect(await process.lines(of: 1).next(within: .seconds(5), where: { $0 == "held" }) != nil)
        process.signal(SIGTERM)
        #expect(await process.waitForExit() == .code(0))
        #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
    }

    @Test(.rig) func chosenButtonsArePrintedWhenAskedFor() async throws {
        let process = try await rig.subscriber(to: "/run") {
            try rig.start("listen", "/run", "--actions", "--json=short", "-n", "2")
        }
        let id = try await rig.client.publish("/run/r1/invite", fields: ["from": "Mina"])
        let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
        rig.server.invoke("accept", on: banner.id)
        let action = #"{"id":\#(id),"topic":"/run/r1/invite","action":"accept"}"#
        #expect(await process.lines(of: 1).next(within: .seconds(5), where: { $0 == action }) != nil)
        try await rig.client.send("/run/r1/cancelled")
        #expect(await process.waitForExit() == .code(0))
    }

    @Test(.rig) func theEndOfTheTimeIsOneWhateverWasHeard() async throws {
        try await rig.client.publish("/post/1")
        let process = try rig.start("listen", "--since", "0", "--timeout", "1s")
        #expect(await process.waitForExit() == .code(1))
        #expect(await process.allLines(of: 1)?.count == 1)
    }

    // MARK: Events

    @Test(.rig) func everyCommandThatTakesAnIdTakesTheLast() async throws {
        for arguments in [
            ["claim", "last"], ["mark-read", "/", "--up-to", "last"], ["forget", "last"], ["why", "last"],
        ] {
            let result = try await rig.run(arguments)
            #expect(result.code == 1 && result.errors == ["notifyctl: There is no event yet."])
        }
        let id = try await rig.client.publish("/post/1", options: PublishOptions(window: .seconds(60)))
        for command in ["show", "why"] {
            #expect(try await rig.run(command, "last").output.first?.hasPrefix("Event \(id)") == true)
        }
        #expect(try await rig.run("claim", "last").output == ["suppressed"])
        try await rig.client.publish("/post/2", options: PublishOptions(window: .seconds(60)))
        #expect(try await rig.run("mark-read", "/", "--up-to", "last").output == ["1"])
        #expect(try await rig.run("listen", "--since", "last", "--timeout", "100ms").output == [])
        #expect(try await rig.run("forget", "last").output == ["1"])
    }

    @Test(.rig) func aBodyOfADashIsStandardInput() async throws {
        func body(_ script: String) async throws -> String {
            let process = try rig.startScript(script)
            guard case .code(let code)? = await process.waitForExit() else { return "no end" }
            if code != 0 { return "\(code)" }
            return try await rig.client.history("/", after: 0).last?.event.body ?? "none"
        }
        let sent = try await body("printf 'one\\ntwo\\n' | notifyctl send /post/1 Title -")
        #expect(sent == "one\ntwo")
        #expect(try await body("notifyctl send /post/1 Title - < /dev/null") == "")
        #expect(try await body("printf 'a\\377' | notifyctl send /post/1 Title -") == "65")
        #expect(try await body("head -c 70000 /dev/zero | tr '\\0' x | notifyctl send /post/1 Title -") == "65")
        #expect(try await body("notifyctl send /post/1 Title - <&-") == "65")
    }

    // MARK: Quiet and status

    @Test(.rig) func statusTellsHowTheDaemonIsDoing() async throws {
        let screen = try await rig.client.openScreen("/post/27", mode: .ask, state: .visible)
        try await rig.client.publish("/chat", options: PublishOptions(window: .seconds(60)))
        try await rig.client.setPaused(true)
        let version = try await rig.client.version()
        let status = try await rig.run("status")
        #expect(status.exit == .code(0))
        let lines = status.output.map { $0.split(separator: " ").joined(separator: " ") }
        #expect(lines.first == "notifyd \(version) is running")
        for line in [
            "Banners paused: “notifyctl resume” lets them appear again", "Notification server there",
            "Session not watched: there is no logind that knows a session of yours at a "
                + "seat, so screens always count",
            "Undecided events 1", "Open windows 1", "Open screens 1",
            "Events in memory 1",
        ] {
            #expect(lines.contains(line), "\(line) is not in \(lines)")
        }
        #expect(lines.contains { $0.hasPrefix("/post/27 ask visible ") && $0.contains("(:1.") })
        #expect(lines.contains("published 1"))
        #expect(!lines.contains { $0.hasPrefix("refused ") }, "what has not happened is left out")
        rig.server.stop()
        await screen.close()
        let json = try await rig.run("status", "--json=short").output.first ?? ""
        #expect(json.contains(#""NotificationServer":"absent","Screens":[]"#))
        #expect(json.contains(#""Paused":true"#))
        #expect(try await rig.run("--version").output == [version])
    }

    @Test(.rig) func aServerThatKeepsFailingIsSeenToRest() async throws {
        rig.server.setMode(.erroring(name: "org.example.Failed"))
        for number in 1...3 {
            try await rig.client.publish("/post/\(number)", options: PublishOptions(window: .zero))
            #expect(await rig.server.banners.next(within: .seconds(5)) != nil)
        }
        try await rig.until("the server is left alone") {
            try await rig.client.statistics()["notification-server-rests"] == 1
        }
        let json = try await rig.run("status", "--json=short").output.first ?? ""
        #expect(json.contains(#""NotificationServer":"resting""#))
    }

    @Test(.rig) func aServerThatHangsIsSaidNotToAnswer() async throws {
        rig.server.setMode(.hanging)
        try await rig.client.publish("/post/1", options: PublishOptions(window: .zero))
        #expect(await rig.server.banners.next(within: .seconds(5)) != nil)
        try await rig.until("the silence is noticed") {
            try await rig.client.statistics()["notification-server-silent", default: 0] >= 2
        }
        #expect(try await rig.run("status").output.contains { $0.contains("it has not answered for") })
        let json = try await rig.run("status", "--json=short").output.first ?? ""
        #expect(json.contains(#""NotificationServer":"silent""#))
        rig.server.setMode(.normal)
        try await rig.until("it answers") {
            try await rig.client.statistics()["notification-server-silent"] == 0
        }
    }

    @Test(.rig) func whoOnlyReadsSaysSoonThatTheDaemonHangs() async throws {
        rig.daemon.signal(SIGSTOP)
        defer { rig.daemon.signal(SIGCONT) }
        let number = try #require(rig.daemon.identifier)
        let commands = [
            ["status"], ["quiet"], ["history"], ["why", "last"], ["inbox", "-n", "1"], ["watch", "/"],
        ]
        // All of them only wait.
        let processes = try commands.map { try rig.start(arguments: $0) }
        for (command, process) in zip(commands, processes) {
            // Without a limit of its own it would take 25 seconds.
            #expect(await process.waitForExit(within: .seconds(15)) == .code(1), "\(command)")
            #expect(
                await process.allLines(of: 2) == [
                    "notifyctl: notifyd is on the bus, process \(number), but it does not answer. Restart it: "
                        + "systemctl --user restart notifyd"
                ], "\(command)")
        }
    }

    @Test(
        .rig,
        arguments: [
            (["config", "check", "--daemon", "/bin/true"], "/bin/true ended with exit code 0 and said nothing"),
            (["config", "check", "-j", "--daemon", "/bin/true"], "/bin/true ended with exit code 0 and said nothing"),
            (["config", "check", "--daemon", "/bin/false"], "/bin/false ended with exit code 1 and said nothing"),
            (["replay", "--config", "/dev/null", "--daemon", "/bin/false"], "exit code 1 and said nothing"),
            (["replay", "--config", "/dev/null", "--daemon", "/bin/true"], "exit code 0 and said nothing"),
            (
                ["demo", "--daemon", "/bin/true"],
                "/bin/true ended with exit code 0 before it was ready, and wrote nothing."
            ),
        ])
    func aProgramThatIsNoDaemonIsNamed(_ arguments: [String], _ words: String) async throws {
        try await rig.client.publish("/post/1")
        let result = try await rig.run(arguments)
        #expect(result.code == 69 && result.output == [])
        #expect(result.errors.joined().contains(words))
    }

    @Test(.privateBus) func withoutADaemonStatusSaysSo() async throws {
        let process = try ChildProcess(
            BuiltPrograms.notifyctl, ["status", "--address", bus.address], environment: [:], capturing: [1, 2])
        #expect(await process.waitForExit() == .code(69))
        #expect(await process.allLines(of: 2)?.first?.contains("notifyd is not on this bus") == true)
    }
}
