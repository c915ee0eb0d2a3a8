import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What the two command lines do when their output cannot be written: they never end as if it were.
@Suite(.serialized, .timeLimit(.minutes(1))) struct OutputTests {
    private let rig: Rig! = Fixture.current()

    /// One of each kind: an answer, a list, a picture, a stream, help and what the parser prints by itself.
    private static let printing = [
        "notifyctl status", "notifyctl history", "notifyctl history -n 1 --json=pretty", "notifyctl top",
        "notifyctl listen --since 0 -n 1", "notifyctl watch /post -n 1", "notifyctl claim-topic /post --grace 1ms",
        "notifyctl send /post/2", "notifyctl send post 3 --wait", "notifyctl screen /post/9", "notifyctl doctor",
        "notifyctl config check -j", "notifyctl --help", "notifyctl help send", "notifyctl --version",
        "notifyctl --generate-completion-script bash",
        "notifyctl ---completion why -- positional@0 0 0 notifyctl why x", "notifyd --help", "notifyd --version",
        "notifyd --check-config", "notifyd --print-routes",
    ]

    /// Runs commands of a shell, and returns the exit code of each.
    private func codes(of commands: [String], redirected redirection: String, in rig: Rig) async throws -> [String] {
        let lines = commands.map { "{ \($0)\n} \(redirection); echo \"$?\" >&3" }
        let process = try rig.startScript("exec 3>&1\n" + lines.joined(separator: "\n"))
        return try #require(await process.allLines(of: 1, within: .seconds(40)))
    }

    @Test(.rig, arguments: [">/dev/full", ">&-", ">/dev/full 2>&1", ">/dev/full 2>&-", ">&- 2>&-"])
    func outputThatCannotBeWrittenIsAFailure(_ redirection: String) async throws {
        try await rig.client.publish("/post/1", options: PublishOptions(retain: true))
        let codes = try await codes(of: Self.printing, redirected: redirection, in: rig)
        #expect(codes.count == Self.printing.count)
        for (command, code) in zip(Self.printing, codes) where code != "74" {
            Issue.record("\(command) ended with \(code)")
        }
    }

    @Test(.rig) func outputThatCannotBeWrittenIsSaid() async throws {
        let process = try rig.startScript("notifyctl status >/dev/full; notifyd --version >&-")
        #expect(
            await process.allLines(of: 2) == [
                "notifyctl: standard output cannot be written: No space left on device.",
                "notifyd: standard output cannot be written: Bad file descriptor.",
            ])
    }

    @Test(arguments: ["2>/dev/full", "2>&-", "2> >(exec true)", ">/dev/full 2>/dev/full", ">&- 2>&-"])
    func aFailureKeepsItsCodeWhenItCannotBeSaid(_ redirection: String) async throws {
        let failing = [
            ("notifyctl why 4711", "1"), ("notifyctl send post/1", "65"), ("notifyctl nonsense", "64"),
            ("notifyctl help nonsense", "64"), ("notifyctl claim-topic post", "65"),
            ("notifyctl status --address unix:path=/nowhere", "69"),
            ("notifyctl pause", "77"),
            ("notifyctl config check /nowhere.toml", "78"), ("notifyd --nonsense", "64"),
            ("notifyd --check-config --config /nowhere.toml", "78"),
        ]
        try await withRig(configuration: "[[policy]]\ndeny = [\"control\"]\nuser = \(getuid())\n") { rig in
            let lines = failing.map { "{ \($0.0)\n} \(redirection); echo \"$?\" >&3" }
            let process = try ChildProcess(
                "bash", ["-c", "exec 3>&1\n" + lines.joined(separator: "\n")], environment: rig.environment,
                capturing: [1, 2], inOwnGroup: true)
            #expect(try #require(await process.allLines(of: 1, within: .seconds(40))) == failing.map(\.1))
        }
    }

    /// A pipe that nobody reads, with no room left: one end is open here.
    private func fullPipe(in rig: Rig) throws -> (path: String, end: CInt) {
        let path = "\(rig.daemon.folder.path)/full"
        try #require(mkfifo(path, 0o600) == 0)
        let end = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        try #require(end >= 0)
        fill(end)
        return (path, end)
    }

    private func fill(_ pipe: CInt) {
        for size in [4096, 1] {
            let bytes = [UInt8](repeating: 10, count: size)
            while write(pipe, bytes, size) > 0 {}
        }
    }

    @Test(.rig, arguments: ["listen --claim", "listen --claim --since 0 --json=short"], [SIGTERM, SIGINT])
    func aFullPipeDoesNotKeepAProgramFromEnding(_ command: String, _ signal: CInt) async throws {
        let (path, end) = try fullPipe(in: rig)
        defer { close(end) }
        let program = try ChildProcess(
            "/bin/sh", ["-c", "exec \(BuiltPrograms.notifyctl) \(command) >\(path)"], environment: rig.environment)
        // It has heard an event, and has to print it.
        try await rig.until("an event is claimed") {
            try await rig.client.send("/post/27")
            return try await rig.client.statistics()["claimed"] ?? 0 > 0
        }
        program.signal(signal)
        #expect(await program.waitForExit() == .code(0))
    }

    @Test(.rig) func aFullPipeDoesNotKeepAStatusBarFromEnding() async throws {
        let (path, end) = try fullPipe(in: rig)
        defer { close(end) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        func readAll() -> String {
            var text = ""
            while case let count = read(end, &buffer, buffer.count), count > 0 {
                text += String(decoding: buffer[..<count], as: UTF8.self)
            }
            return text
        }
        _ = readAll()
        let program = try ChildProcess(
            "/bin/sh", ["-c", "exec \(BuiltPrograms.notifyctl) inbox --follow json >\(path)"],
            environment: rig.environment)
        try await rig.until("a line is printed") { readAll().contains(#""unread":0"#) }
        fill(end)
        try await rig.client.publish("/post/27", options: PublishOptions(window: .zero))
        #expect(try await rig.outcome(ofEventAt: "/post/28") == "shown")
        program.signal(SIGTERM)
        #expect(await program.waitForExit() == .code(0))
    }

    @Test(.rig) func aReaderThatLeavesEndsAProgramWithoutAWord() async throws {
        for _ in 1...3 { try await rig.client.publish("/post/1") }
        let process = try ChildProcess(
            "bash",
            [
                "-c",
                """
                mkfifo "$1/pipe"
                for command in "notifyctl history" "notifyctl --help" "notifyd --help" \
                "notifyctl listen --since 0"; do
                    $command > "$1/pipe" &
                    exec 4< "$1/pipe" 4<&-
                    wait $!; echo $?
                done
                """, "bash", rig.daemon.folder.path,
            ], environment: rig.environment, capturing: [1, 2], inOwnGroup: true)
        #expect(await process.allLines(of: 1, within: .seconds(40)) == ["141", "141", "141", "141"])
        #expect(await process.allLines(of: 2) == [])
    }

    @Test(
        .rig,
        arguments: [
            ("listen", "true"), ("watch /", "true"), ("inbox --follow waybar", "head -1"),
            ("inbox --follow polybar", "head -1"),
            ("top -n 1000 --json=short", "head -1"),
        ])
    func aCommandThatFollowsEndsWithItsReaderThoughNothingHappens(_ command: String, _ reader: String) async throws {
        let script = "notifyctl \(command) | \(reader) > /dev/null; echo ${PIPESTATUS[0]}"
        let process = try ChildProcess(
            "bash", ["-c", script], environment: rig.environment, capturing: [1, 2], inOwnGroup: true)
        #expect(await process.allLines(of: 1, within: .seconds(20)) == ["141"])
        #expect(await process.allLines(of: 2) == [])
    }

    @Test(.rig) func aScreenIsHeldThoughNobodyReadsThatItIsOpen() async throws {
        let process = try rig.startScript("notifyctl screen /post/27 | head -1")
        #expect(await process.lines(of: 1).next(within: .seconds(20)) == "The screen on /post/27 is open.")
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "claimed")
        await process.end()
    }

    @Test(.rig) func aClosedDescriptorIsNotTheConnectionToTheBus() async throws {
        // With the number of standard output, the connection would get the text, and be ended by the bus.
        let process = try rig.startScript("notifyctl mute /post 1h <&- >&- 2>&-; echo $?")
        #expect(await process.allLines(of: 1) == ["0"])
    }

    @Test(.rig) func helpForACommandThatIsNotThereIsWrongUsage() async throws {
        let result = try await rig.run("help", "bogus")
        #expect(result.exit == .code(64))
        #expect(result.errors.first?.contains("“bogus” is not a command") == true)
        #expect(try await rig.run("help", "config", "check").exit == .code(0))
        let unknown = try await rig.run("config", "chek").errors
        #expect(unknown.contains { $0.hasPrefix("Usage: notifyctl config ") }, "\(unknown)")
        // Found when the command runs.
        let late = try await rig.run("send", "post")
        #expect(late.exit == .code(64))
        #expect(late.errors.contains { $0.hasPrefix("Usage: notifyctl send ") }, "\(late.errors)")
        for (mistyped, right) in [(["sned", "/x"], "send"), (["config", "chek"], "check")] {
            let process = try rig.start(arguments: mistyped)
            #expect(await process.waitForExit() == .code(64))
            let errors = await process.allLines(of: 2) ?? []
            #expect(errors.first?.hasSuffix("is not a command. Did you mean “\(right)”?") == true, "\(errors)")
        }
    }
}
