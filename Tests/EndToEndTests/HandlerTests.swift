import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The commands of `listen --exec`: no event is too large for them, and one that fails fails alone.
@Suite(.serialized, .timeLimit(.minutes(1))) struct HandlerTests {
    private static let long = PublishOptions(window: .seconds(5))

    @Test func anEventWithMoreThanTheEnvironmentTakesIsHandled() async throws {
        try await withRig { rig in
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
    }

    @Test func aCommandThatReadsNothingHoldsNothingUp() async throws {
        try await withRig { rig in
            let process = try await rig.subscriber(to: "/post") {
                try rig.start("listen", "/post", "--exec", "exec <&-; echo done >&2", "-n", "2")
            }
            let fields: Fields = ["noise": .string(String(repeating: "\u{1}", count: 60_000))]
            for number in 1...2 { try await rig.client.publish("/post/\(number)", fields: fields) }
            #expect(await process.waitForExit() == .code(0))
            #expect(await process.allLines(of: 2) == ["done", "done"])
        }
    }

    @Test func fieldsHaveTheNamesThatTheCommandsOfButtonsGet() async throws {
        try await withRig { rig in
            let process = try await rig.subscriber(to: "/post") {
                try rig.start("listen", "/post", "--exec", "env | grep ^NOTIFYD_FIELD_ | sort >&2", "-n", "1")
            }
            try await rig.client.publish("/post/1", fields: ["WHO": "Mina", "run-number": .int64(7)])
            #expect(await process.waitForExit() == .code(0))
            #expect(await process.allLines(of: 2) == ["NOTIFYD_FIELD_RUN_NUMBER=7", "NOTIFYD_FIELD_WHO=Mina"])
        }
    }

    @Test func aCommandThatCannotBeStartedFailsForItsEventAlone() async throws {
        try await withRig { rig in
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
}
