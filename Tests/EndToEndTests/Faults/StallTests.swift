import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

/// The bus takes nothing for a while: memory stays bounded, the journal goes on, and afterwards everybody hears
/// everything.
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
                for name in "/index.db", "/index.db-wal": shutil.copy(sys.argv[1] + name, copy)
                journal = sqlite3.connect(copy + "/index.db")
                print(journal.execute("SELECT count(*) FROM event WHERE outcome = 0").fetchone()[0])
            """
        let process = try ChildProcess(
            "python3", ["-c", reading, state], environment: ChildProcess.currentEnvironment, capturing: [1])
        return await process.allLines(of: 1)?.first
    }
}
