import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The process of a bridge: its start, its end, and what a service manager expects.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct BridgeProgramTests {
    private let bridge: BridgeProcess! = Fixture.current()
    private let bus: PrivateBus! = Fixture.current()

    fileprivate static func withBridge(_ body: (PrivateBus, BridgeProcess) async throws -> Void) async throws {
        try await withPrivateBus { bus in
            let bridge = try BridgeProcess.forFiles(on: bus)
            try await body(bus, bridge)
            await bridge.kill()
        }
    }

    @Test(.bridge) func itEndsWithZeroWhenItIsToldTo() async throws {
        for number in [SIGTERM, SIGINT] {
            try await bridge.start()
            bridge.signal(number)
            #expect(await bridge.waitForExit() == .code(0), "\(bridge.log)")
        }
    }

    @Test(.bridge) func aSecondOneEndsWith69() async throws {
        try await bridge.start()
        let second = try BridgeProcess.forFiles(on: bus)
        let child = try second.launch()
        #expect(await child.waitForExit() == .code(69))
        #expect(await child.allLines(of: 2)?.contains { $0.contains("This bridge runs already") } == true)
    }

    @Test(.bridge) func withoutABusItEndsWith75() async throws {
        try await bridge.start()
        await bus.kill()
        #expect(await bridge.waitForExit() == .code(75))
        _ = try bridge.launch()
        #expect(await bridge.waitForExit() == .code(75))
    }

    @Test(.privateBus, arguments: ["", "folder = 7\n", "folder = \"/tmp\"\nfoldre = 1\n", "[folder\n"])
    func withABadConfigurationItEndsWith78AndSaysWhere(_ text: String) async throws {
        let bridge = try BridgeProcess.forFiles(on: bus, configuration: text)
        for arguments in [[], ["--check-config"]] {
            let child = try bridge.launch(arguments)
            #expect(await child.waitForExit() == .code(78))
            let log = await child.allLines(of: 2)?.joined(separator: "\n") ?? ""
            #expect(log.contains("config/notifyd/folder.toml:"), "\(log)")
        }
    }

    @Test(.bridge) func wrongUsageEndsWith64AndAGoodConfigurationIsPraised() async throws {
        #expect(await (try bridge.launch(["--what"])).waitForExit() == .code(64))
        let child = try bridge.launch(["--check-config"])
        #expect(await child.waitForExit() == .code(0))
        #expect(await child.allLines(of: 1)?.first?.hasPrefix("The configuration is good") == true)
    }

    @Test(.bridge) func theStateOfANewerVersionEndsItWith65() async throws {
        try await bridge.start()
        await bridge.stop()
        let path = bridge.folder.path + "/state/notifyd/folder/state.db"
        let file = open(path, O_WRONLY | O_CLOEXEC)
        #expect(pwrite(file, [0, 0, 0, 9] as [UInt8], 4, 60) == 4)
        close(file)
        #expect(await (try bridge.launch()).waitForExit() == .code(65))
    }

    @Test(.bridge) func aDamagedStateIsSetAsideLoudly() async throws {
        try bridge.folder.write(String(repeating: "rubbish ", count: 1000), to: "state/notifyd/folder/state.db")
        try await bridge.start()
        #expect(bridge.log.contains("The state was damaged; it was set aside, and begins again"))
    }

    @Test(.bridge) func theStateOfAUnitIsInItsFolder() async throws {
        let folder = bridge.folder.path + "/unit"
        try await bridge.start(with: ["STATE_DIRECTORY": folder])
        #expect(access(folder + "/state.db", F_OK) == 0)
    }

    @Test(.bridge) func newSettingsCountAfterAReload() async throws {
        try await bridge.start()
        #expect(try await bridge.property("Detail")?.string?.hasSuffix("/dropped") == true)
        let other = try bridge.folder.folder("other")
        try bridge.configure("folder = \"\(other)\"\n")
        bridge.signal(SIGHUP)
        try await eventually("the new folder counts") {
            try await bridge.property("Detail")?.string == other ? true : nil
        }
        try bridge.configure("foldre = 1\n")
        bridge.signal(SIGHUP)
        #expect(await bridge.errors.next(within: .seconds(5)) { $0.contains("stays in force") } != nil)
        #expect(try await bridge.property("Detail")?.string == other)
        let problem = try await bridge.problems().first
        #expect(problem?.contains("is bad, so that the one before is in force") == true)
        try bridge.configure("folder = \"\(other)\"\n")
        bridge.signal(SIGHUP)
        try await eventually("the problem is gone") { try await bridge.problems().isEmpty ? true : nil }
    }

    @Test(.bridge) func itTellsTheServiceManagerHowItIs() async throws {
        let manager = try NotifyListener(at: bridge.folder.path + "/notify")
        try await bridge.start(with: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"])
        #expect(await manager.next { $0.contains("READY=1") } != nil)
        #expect(await manager.next { $0.contains("STATUS=connected: ") } != nil)
        for _ in 0..<3 { #expect(await manager.next { $0 == "WATCHDOG=1" } != nil) }
        bridge.signal(SIGHUP)
        #expect(await manager.next { $0.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") } != nil)
        #expect(await manager.next { $0.contains("READY=1") } != nil)
        bridge.signal(SIGTERM)
        #expect(await manager.next { $0 == "STOPPING=1" } != nil)
        #expect(await bridge.waitForExit() == .code(0))
    }
}

/// Stands in for the service manager: it collects the statements of sd_notify(3).
private final class NotifyListener: Sendable {
    let path: String
    private let descriptor: CInt
    private let statements = Mailbox<String>()

    init(at path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard withSocketAddress(of: path, { bind(descriptor, $0, $1) }) == 0 else {
            throw RehearsalError("The socket cannot be bound: \(String(cString: strerror(errno)))")
        }
        onOwnThread { [descriptor, statements] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                statements.put(String(decoding: buffer[..<count], as: UTF8.self))
            }
        }
    }

    deinit {
        shutdown(descriptor, CInt(SHUT_RDWR))
        close(descriptor)
    }

    func next(_ isWanted: @escaping @Sendable (String) -> Bool) async -> String? {
        await statements.next(within: .seconds(10), where: isWanted)
    }
}

extension Trait where Self == Fixture {
    fileprivate static var bridge: Self { Fixture(BridgeProgramTests.withBridge) }
}
