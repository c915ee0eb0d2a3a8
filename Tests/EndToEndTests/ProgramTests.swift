import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Outcomes and explanations say which program claimed. In a unit of a user's service manager the unit names the
/// program, and then there is another name than that of the command.
@Suite(.timeLimit(.minutes(1)), .disabled(if: isInUserUnit))
struct ProgramTests {
    private let rig: Rig! = Fixture.current()

    @Test(.rig) func anOutcomeSaysWhatProgramHasTheScreen() async throws {
        let outcomes = Mailbox<Outcome>()
        let heard = try await rig.client.outcomes(at: "/post")
        let reader = Task { for try await outcome in heard { outcomes.put(outcome) } }
        defer { reader.cancel() }
        let screen = try rig.start("screen", "/post/27")
        defer { screen.signal(SIGTERM) }
        // The daemon asks the bus before it answers the screen, so the bus answers it before it passes on what
        // comes next.
        try await rig.until("a screen is open") { try await rig.client.screens().count == 1 }
        let owner = try #require(try await rig.client.screens().first?.owner)
        let id = try await rig.client.publish("/post/27", title: "news")
        let outcome = try #require(await outcomes.next(within: .seconds(10)))
        #expect(outcome.by == owner)
        #expect(outcome.program == "notifyctl")

        try await rig.daemon.restart()
        let explanation = try await rig.client.explain(id)
        #expect(explanation.claims.map(\.program) == ["notifyctl"])
        #expect(explanation.reason.hasPrefix("notifyctl (\(owner)) claimed it (OpenScreen)"))
        let picture = try await rig.run("why", "\(id)").output
        #expect(picture.contains { $0.contains("  notifyctl (\(owner))  ") })
        let json = try await rig.run("why", "--json=short", "\(id)").output.joined()
        #expect(json.contains(#""program":"notifyctl""#))
    }

    @Test(.rig) func aProgramThatTurnsOutAfterTheClaimIsKeptWithIt() async throws {
        let id = try await rig.client.publish("/post/27", title: "news", options: .init(window: .seconds(60)))
        let claim = try await rig.client.claim(id)
        #expect(claim == .suppressed)
        try await rig.until("the claimant has a name") {
            try await rig.client.explain(id).claims.first?.program != nil
        }
        let before = try await rig.client.explain(id)
        try await rig.daemon.restart()
        let after = try await rig.client.explain(id)
        #expect(after.claims == before.claims)
    }

    @Test(.rig, arguments: ["status", "top"])
    func screensAreListedWithTheirPrograms(_ command: String) async throws {
        let screen = try rig.start("screen", "/post/27")
        defer { screen.signal(SIGTERM) }
        try await rig.until("a screen is open") { try await rig.client.screens().count == 1 }
        let owner = try #require(try await rig.client.screens().first?.owner)
        let once = command == "top" ? ["-n", "1"] : []
        func output(_ more: String...) async throws -> String {
            let process = try rig.start(arguments: [command] + once + more)
            _ = await process.waitForExit()
            return try #require(await process.allLines(of: 1)).joined(separator: "\n")
        }
        #expect(try await output().contains("notifyctl (\(owner))"))
        #expect(try await output("--json=short").contains(#""owner":"\#(owner)","program":"notifyctl""#))
    }

    @Test(.rig) func theBusIsAskedOnceAboutEachClaimant() async throws {
        let (questions, monitor) = try await rig.calls(of: "GetConnectionUnixProcessID", on: Bus.interface)
        let test = try await Connection.open(rig.bus.address)
        defer {
            monitor.close()
            test.close()
        }
        for _ in 1...5 {
            let id = try await rig.client.send("/post/27")
            let verdict = try await rig.client.claim(id)
            #expect(verdict == .suppressed)
        }
        // The monitor sees everything in the order of the bus: a question of our own says that nothing came before
        // it.
        _ = try await test.call(
            Message.call(
                "GetConnectionUnixProcessID", of: Bus.interface, at: Bus.path, on: Bus.name,
                [.string(test.uniqueName)]))
        let asker = try #require(await questions.next(within: .seconds(10))?.sender)
        #expect(asker != test.uniqueName)
        #expect(await questions.next(within: .seconds(10))?.sender == test.uniqueName)
    }

    @Test(.rig) func claimantsThatLeaveAtOnceDelayNothing() async throws {
        for _ in 1...20 {
            let id = try await rig.client.publish("/post/27", title: "news", options: .init(window: .seconds(60)))
            let claimant = try await Connection.open(rig.bus.address)
            try await rig.departure(of: claimant.uniqueName) {
                claimant.send(.toRouter("Claim", [.uint64(id.rawValue)]))
                claimant.close()
            }
            #expect(await rig.listener.resolution(of: id)?.outcome == "claimed")
            let explanation = try await rig.client.explain(id)
            #expect(explanation.claims.map(\.by) == [claimant.uniqueName])
        }
    }
}

private var isInUserUnit: Bool {
    guard let file = fopen("/proc/self/cgroup", "re") else { return false }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self).contains("/user@")
}
