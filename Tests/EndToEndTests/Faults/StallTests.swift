import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

/// The bus takes nothing for a while: memory stays bounded, the journal goes on, and afterwards everybody hears everything.
@Suite(.timeLimit(.minutes(5)))
struct StallTests {
    /// More than the bus may have before it: about a kilobyte each.
    private static let count = 12_000

    @Test func whatIsDecidedWhileTheBusStandsStillIsAnnouncedAfterwardsInOrder() async throws {
        try await withFaultRig(isStarted: false) { rig in
            let ids = try rig.writeBacklog(of: Self.count)
            try await rig.daemon.start()
            try await rig.until("all are announced again") { rig.signals.all.count >= Self.count }
            let before = try rig.peakMemory()

            // The daemon finds the call when the bus stands still already.
            rig.daemon.signal(SIGSTOP)
            rig.connection.send(
                .call(
                    "ClaimTopic", of: Router.interface, at: Router.path, on: Router.name, ["/backlog", .uint32(0)]))
            _ = try await rig.connection.call(.call("GetId", of: Bus.interface, at: Bus.path, on: Bus.name))
            rig.bus.signal(SIGSTOP)
            defer { rig.bus.signal(SIGCONT) }
            rig.daemon.signal(SIGCONT)
            try await rig.until("the journal has every claim", within: .seconds(60)) {
                try await undecided(in: rig.state) == "0"
            }
            // Nothing more is handed over, and what waits does not grow.
            let during = try rig.peakMemory()
            rig.bus.signal(SIGCONT)

            try await rig.until("all are announced", within: .seconds(60)) {
                rig.signals.all.count { $0.member == "Resolved" } >= Self.count
            }
            #expect(try await rig.statistic("waiting-signals") == 0)
            let resolved = rig.signals.all.filter { $0.member == "Resolved" }
            #expect(resolved.map { $0.arguments[1] } == ids.map(Value.uint64))
            #expect(!rig.daemon.log.contains("could not be sent"))
            #expect(during - before < 32 << 20)
            print("peak before \(before >> 20) MiB, with the bus stopped \(during >> 20) MiB")
        }
    }

    /// From a copy, for the daemon cannot be asked, and shares its journal with nobody.
    private func undecided(in state: String) async throws -> String? {
        let reading = """
            import shutil, sqlite3, sys, tempfile
            with tempfile.TemporaryDirectory() as copy:
                for name in "/events.db", "/events.db-wal": shutil.copy(sys.argv[1] + name, copy)
                journal = sqlite3.connect(copy + "/events.db")
                print(journal.execute("SELECT count(*) FROM event WHERE outcome = 0").fetchone()[0])
            """
        let process = try ChildProcess(
            "python3", ["-c", reading, state], environment: ChildProcess.currentEnvironment, capturing: [1])
        return await process.allLines(of: 1)?.first
    }

    /// Somebody has thousands of calls on the way at any time; somebody else sends one after the other.
    ///
    /// Both share one connection between bus and daemon, which is first in, first out; what the daemon owes the one who is
    /// quiet is not to make it wait for all that the other has asked for, nor to refuse it what is the other's fault.
    @Test func whoSendsAtEaseIsServedThroughAFlood() async throws {
        try await withFaultRig(faultDefaults + "[[route]]\ntopic = \"/flood/{n}\"\nwindow = \"60s\"\n") { rig in
            let alone = try await latencies(of: rig, count: 100)
            let flood = try await Connection.open(rig.bus.address)
            defer { flood.close() }
            let refused = Guarded(0)
            let answered = Guarded(0)
            let isOver = Guarded(false)
            let flooding = Task {
                await withTaskGroup(of: Void.self) { group in
                    for slot in 0..<64 {
                        group.addTask {
                            while !isOver.withLock({ $0 }) {
                                do {
                                    _ = try await flood.call(
                                        .call(
                                            "Send", of: Router.interface, at: Router.path, on: Router.name,
                                            [.string("/flood/\(slot)"), "", ""]))
                                    answered.withLock { $0 += 1 }
                                } catch { refused.withLock { $0 += 1 } }
                            }
                        }
                    }
                }
            }
            try await rig.until("the flood is over its limit", within: .seconds(60)) { refused.withLock { $0 } > 100 }
            let during = try await latencies(of: rig, count: 300)
            isOver.withLock { $0 = true }
            await flooding.value
            #expect(answered.withLock { $0 } == 10_000)
            print("p50, p99 alone \(alone), in a flood of \(refused.withLock { $0 }) refusals \(during)")
        }
    }

    private func latencies(of rig: FaultRig, count: Int) async throws -> [Duration] {
        var latencies: [Duration] = []
        for _ in 0..<count {
            let begin = ContinuousClock.now
            _ = try await rig.send("/quiet")
            latencies.append(.now - begin)
        }
        latencies.sort()
        return [latencies[count / 2], latencies[count * 99 / 100]]
    }
}
