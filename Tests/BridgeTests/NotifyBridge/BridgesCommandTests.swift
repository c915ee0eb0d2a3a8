import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import notifyctl

/// What notifyctl says of bridges.
@Suite(.timeLimit(.minutes(2)))
struct BridgesCommandTests {
    private let bus: PrivateBus! = Fixture.current()

    private func run(_ bus: PrivateBus, _ arguments: String...) async throws -> (code: CInt?, lines: [String]) {
        let environment = ["PATH": ChildProcess.path, "DBUS_SESSION_BUS_ADDRESS": bus.address]
            .merging(ChildProcess.sanitizerEnvironment) { $1 }
        let result = try await ChildProcess.run(BuiltPrograms.notifyctl, arguments, environment: environment)
        return (result.code, result.output + result.errors)
    }

    @Test(.privateBus) func aRunningBridgeIsListedWithItsDeadLetters() async throws {
        #expect(try await run(bus, "bridges").lines == ["No bridge runs."])
        let daemon = try await DaemonProcess.start(BuiltPrograms.notifyd, on: bus)
        let bridge = try BridgeProcess.forFiles(on: bus)
        try await bridge.start()
        try bridge.drop("large", String(repeating: "a", count: 9000))
        try await eventually("it is given up") { bridge.isThere("large") ? nil : true }

        let list = try await run(bus, "bridges")
        #expect(list.code == 0 && list.lines.count == 1)
        #expect(list.lines.first?.contains("connected") == true)
        #expect(list.lines.first?.contains("1 dead letter") == true, "\(list.lines)")
        let json = try await run(bus, "bridges", "folder", "--json=short").lines.first
        #expect(json?.hasPrefix(#"{"name":"folder","state":"connected","detail":""#) == true)
        #expect(json?.contains(#""dead-letters":1"#) == true)

        let letters = try await run(bus, "bridges", "folder", "--dead-letters").lines
        #expect(letters.count == 1 && letters.first?.contains("large") == true)
        let status = try await run(bus, "status").lines
        #expect(status.contains { $0.contains("Bridge folder") && $0.contains("1 dead letter") })
        #expect(
            try await run(bus, "doctor").lines.contains {
                $0.contains("bridge folder") && $0.contains("1 dead letter")
            })

        #expect(try await run(bus, "forget", "/other").code == 0)
        #expect(try await run(bus, "bridges", "--dead-letters", "--json=short").lines.count == 1)
        #expect(try await run(bus, "forget", "/files").code == 0)
        #expect(try await run(bus, "bridges", "--dead-letters").lines.isEmpty)
        #expect(try await run(bus, "bridges", "folder", "--forget").lines == ["0"])

        #expect(try await run(bus, "bridges", "none").code == 1)
        #expect(try await run(bus, "bridges", "--forget", "--dead-letters").code == 64)
        await bridge.stop()
        #expect(try await run(bus, "bridges").lines == ["No bridge runs."])
        await daemon.stop()
    }

    @Test(.privateBus) func aBridgeThatDoesNotAnswerIsListedAsSilent() async throws {
        let silent = try await Connection.open(bus.address)
        silent.export("org.freedesktop.DBus.Properties") { _ in }
        try await silent.requestName("org.notifyd.Bridge.silent")
        let list = try await run(bus, "bridges")
        #expect(list.code == 0 && list.lines.first?.hasPrefix("silent  silent") == true, "\(list.lines)")
        silent.close()
    }

    // MARK: doctor

    private func findings(_ properties: [String: Value], _ diagnosis: BridgeInfo.Problem...) -> [Finding] {
        var bridge = BridgeInfo(name: "mqtt", properties)
        bridge.diagnosis = diagnosis
        return BridgeCheck(bridges: [bridge]).findings
    }

    @Test func doctorTellsWhatAFailedBridgeSaysOfItself() {
        let failed: [String: Value] = ["State": "failed", "Detail": "two machines share one device"]
        let reason = "failed (two machines share one device)"
        let found = findings(failed, (reason, "notifyctl link reset"), ("1 dead letter", "Look at it."))
        #expect(found.map(\.level) == [.problem, .warning])
        #expect(found.map(\.state) == [reason, "1 dead letter"])
        #expect(found.map(\.advice) == ["notifyctl link reset", "Look at it."])
        // One that says nothing of itself has failed nevertheless.
        let silent = findings(failed)
        #expect(silent.map(\.level) == [.problem] && silent.first?.state == reason)
        #expect(silent.first?.advice?.contains("journalctl --user -u notifyd-mqtt") == true)
    }

    @Test func doctorTellsOfDeadLettersBesideAWellBridge() {
        let found = findings(["State": "connected"], ("2 dead letters", "Look at them."))
        #expect(found.map(\.level) == [.ok, .warning])
        #expect(found.last?.state == "2 dead letters")
    }

    @Test func aBridgeThatWaitsForTheOtherSideIsAWarning() {
        let found = findings(
            [
                "State": "waiting", "Detail": "the broker is away", "Since": .int64(1_700_000_000_000_000),
            ], ("waiting (the broker is away)", "It tries again by itself."))
        #expect(found.map(\.level) == [.warning])
        #expect(found.first?.state.hasPrefix("waiting (the broker is away) since ") == true)
        #expect(found.first?.advice == "It tries again by itself.")
        #expect(findings([:]).map(\.level) == [.problem])
        #expect(BridgeCheck().findings.isEmpty)
    }
}
