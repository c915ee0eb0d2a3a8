import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The bus takes nothing for a while: memory stays bounded, the journal goes on, and afterwards everybody hears
/// everything.
@Suite(.timeLimit(.minutes(5)))
struct StallTests {
    private let rig: FaultRig! = Fixture.current()

    /// More than the bus may have before it: about a kilobyte each.
    private static let count = 12_000

    @Test(.faultRig(isStarted: false)) func whatIsDecidedWhileTheBusStandsStillIsAnnouncedAfterwardsInOrder()
        async throws
    {
        let ids = try rig.writeBacklog(of: Self.count)
        try await rig.daemon.start()
        try await rig.until("all are announced again") { rig.signals.all.count >= Self.count }
        let before = try rig.peakMemory()

        // The daemon finds the call when the bus stands still already.
        rig.daemon.signal(SIGSTOP)
        rig.connection.send(.toRouter("ClaimTopic", ["/backlog", .uint32(0)]))
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

/// A service manager that reads late.
@Suite(.timeLimit(.minutes(2)))
struct ManagerTests {
    @Test func aManagerThatDoesNotReadStopsNothingAndMissesNothing() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path + "/manager"
        let manager = try listen(path)
        defer { close(manager) }
        let environment = ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"]
        try await withFaultRig(environment: environment) { rig in
            for number in 1...300 {
                kill(try #require(rig.daemon.identifier), SIGHUP)
                _ = try await rig.send("/note/\(number)")
            }
            #expect(try await rig.degradation() == "")
            var heard = read(manager)
            #expect(heard.first?.hasPrefix("READY=1") == true || heard.first == "WATCHDOG=1")
            try await rig.until("it hears what it has not read") {
                heard += read(manager)
                let reloads = heard.filter { $0.hasPrefix("READY=1") || $0.hasPrefix("RELOADING=1") }
                let isReady = reloads.count > 1 && reloads.last?.hasPrefix("READY=1") == true
                return isReady && heard.last == "WATCHDOG=1"
            }
            // It goes on after that.
            try await rig.until("the watchdog is pinged again") { read(manager).contains("WATCHDOG=1") }
            #expect(await rig.daemon.stop() == .code(0))
            #expect(read(manager).contains("STOPPING=1"))
        }
    }

    @Test func aManagerThatNeverReadsKeepsNothingFromEndingInOrder() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path + "/manager"
        let manager = try listen(path)
        defer { close(manager) }
        try await withFaultRig(environment: ["NOTIFY_SOCKET": path]) { rig in
            fill(path)
            #expect(await rig.daemon.stop() == .code(0))
        }
    }

    /// Sends to the socket until it takes no more.
    private func fill(_ path: String) {
        let sender = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        defer { close(sender) }
        withSocketAddress(of: path) { address, length in
            while sendto(sender, "X=1", 3, 0, address, length) >= 0 {}
        }
    }

    private func listen(_ path: String) throws -> CInt {
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        try #require(withSocketAddress(of: path) { bind(descriptor, $0, $1) } == 0)
        return descriptor
    }

    private func read(_ socket: CInt) -> [String] {
        var all: [String] = []
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count >= 0 else { return all }
            all.append(String(decoding: bytes[..<count], as: UTF8.self))
        }
    }
}
