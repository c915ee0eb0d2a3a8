import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The commands of `listen --exec`: no event is too large for them, and one that fails fails alone.
@Suite(.serialized, .timeLimit(.minutes(1))) struct HandlerTests {
    private let rig: Rig! = Fixture.current()
    private static let long = PublishOptions(window: .seconds(5))

    @Test(.rig) func anEventWithMoreThanTheEnvironmentTakesIsHandled() async throws {
        let process = try await rig.subscriber(to: "/post") {
            try rig.start(
                "listen", "/post", "--exec",
                #"echo "$NOTIFYD_OMITTED ${#NOTIFYD_JSON} ${#NOTIFYD_FIELD_NOISE} $(wc -c)" >&2"#, "-n", "2")
        }
        let noise = String(repeating: "\u{1}", count: 60_000)
        try await rig.client.publish("/post/1", fields: ["noise": .string(noise)])
        let last = try await rig.client.publish("/post/2", title: "short")
        #expect(await process.waitForExit() == .code(0))
        let lines = try #require(await process.allLines(of: 2))
        #expect(lines.count == 2)
        let first = lines[0].split(separator: " ")
        #expect(first.prefix(3) == ["NOTIFYD_JSON", "0", "60000"])
        #expect(Int(first[3])! > 360_000)
        #expect(lines[1].hasPrefix(" "), "\(lines)")
        #expect(try await rig.client.explain(last).topic == "/post/2")
    }

    @Test(.rig) func aCommandThatReadsNothingHoldsNothingUp() async throws {
        let process = try await rig.subscriber(to: "/post") {
            try rig.start("listen", "/post", "--exec", "exec <&-; echo done >&2", "-n", "2")
        }
        let fields: Fields = ["noise": .string(String(repeating: "\u{1}", count: 60_000))]
        for number in 1...2 { try await rig.client.publish("/post/\(number)", fields: fields) }
        #expect(await process.waitForExit() == .code(0))
        #expect(await process.allLines(of: 2) == ["done", "done"])
    }

    @Test(.rig) func fieldsHaveTheNamesThatTheCommandsOfButtonsGet() async throws {
        let process = try await rig.subscriber(to: "/post") {
            try rig.start("listen", "/post", "--exec", "env | grep ^NOTIFYD_FIELD_ | LC_ALL=C sort >&2", "-n", "1")
        }
        try await rig.client.publish("/post/1", fields: ["who": "Mina", "run-number": .int64(7)])
        #expect(await process.waitForExit() == .code(0))
        #expect(
            await process.allLines(of: 2) == [
                "NOTIFYD_FIELD_RUN_NUMBER=7", "NOTIFYD_FIELD_WHO=Mina", "NOTIFYD_FIELD_who=Mina",
            ])
    }

    /// A command that does not end before somebody writes into `gate`.
    private static let patient = """
        echo "ran $NOTIFYD_TITLE" >&2
        if [ "$NOTIFYD_TITLE" = slow ]; then : <"$HOME/gate"; fi
        """

    /// Starts `listen` with the patient command, publishes an event for it, and restarts notifyd while the command
    /// runs.
    private func restartWhileItRuns(
        _ rig: Rig, _ options: PublishOptions, count: String
    ) async throws -> (process: ChildProcess, id: EventID) {
        #expect(try await rig.startScript(#"mkfifo "$HOME/gate""#).waitForExit() == .code(0))
        let process = try await rig.subscriber(to: "/post") {
            try rig.start("listen", "/post", "--claim", "--exec", Self.patient, "-n", count)
        }
        let id = try await rig.client.publish("/post/1", title: "slow", options: options)
        try await rig.until("it is held") { try await !rig.client.explain(id).claims.isEmpty }
        try await rig.daemon.restart()
        try await rig.until("it is announced again") { try await rig.client.explain(id).isReplayed }
        return (process, id)
    }

    private func openGate(_ rig: Rig) async throws {
        #expect(try await rig.startScript(#": >"$HOME/gate""#).waitForExit() == .code(0))
    }

    @Test(.rig) func anEventWhoseHoldARestartEndedIsClaimedInTime() async throws {
        let (process, id) = try await restartWhileItRuns(rig, PublishOptions(window: .seconds(60)), count: "1")
        try await openGate(rig)
        #expect(await process.waitForExit() == .code(0))
        #expect(await process.allLines(of: 2) == ["ran slow"])
        #expect(await rig.listener.resolution(of: id)?.outcome == "claimed")
        #expect(try await rig.client.explain(id).decidingClaim?.form == "Claim")
    }

    @Test(.rig) func aCommandThatEndsAfterTheBannerOfARestartSaysSo() async throws {
        // Long enough for the hold to come in time.
        let (process, id) = try await restartWhileItRuns(rig, PublishOptions(window: .seconds(1)), count: "1")
        #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
        try await openGate(rig)
        #expect(await process.waitForExit() == .code(0))
        let complaint = try #require(await process.allLines(of: 2)?.last)
        #expect(complaint.contains("notifyd was restarted, and the hold was lost. It is shown: "), "\(complaint)")
    }

    @Test(.rig) func anEventThatIsAnnouncedAgainIsHeldAgainAndHandledOnce() async throws {
        let (process, id) = try await restartWhileItRuns(rig, PublishOptions(window: .seconds(60)), count: "2")
        try await rig.until("it is held again") { try await rig.client.explain(id).claims.count == 2 }
        try await openGate(rig)
        #expect(await rig.listener.resolution(of: id)?.outcome == "claimed")
        try await rig.client.publish("/post/2", title: "quick", options: Self.long)
        #expect(await process.waitForExit() == .code(0))
        #expect(await process.allLines(of: 2) == ["ran slow", "ran quick"])
        #expect(try await rig.client.explain(id).decidingClaim?.form == "ClaimProvisionally")
    }

    @Test(.rig) func aCommandThatCannotBeStartedFailsForItsEventAlone() async throws {
        // With this stack the system takes 128 KiB of arguments and environment, which are nearly used up.
        let process = try await rig.subscriber(to: "/post") {
            try rig.startScript(
                """
                ulimit -s 512
                BIG=$(head -c 123000 /dev/zero | tr '\\0' x); export BIG
                exec notifyctl listen /post --claim --exec 'echo "handled $NOTIFYD_TITLE" >&2' -n 2
                """)
        }
        let body = String(repeating: "x", count: 8000)
        let large = try await rig.client.publish("/post/1", body: body, options: Self.long)
        let small = try await rig.client.publish("/post/2", title: "small", options: Self.long)
        #expect(await process.waitForExit() == .code(0))
        #expect(
            await process.allLines(of: 2) == [
                "notifyctl: The command for event \(large) cannot be started: "
                    + "/bin/sh cannot be started: Argument list too long.",
                "handled small",
            ])
        #expect(await rig.listener.resolution(of: small)?.outcome == "claimed")
        #expect(await rig.listener.resolution(of: large)?.outcome == "shown")
    }
}
