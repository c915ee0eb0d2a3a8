import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A daemon that a service manager has started, and whose configuration is bad. With a real manager:
/// `Rigs/bad-configuration.sh`.
@Suite(.timeLimit(.minutes(1))) struct BadConfigurationTests {
    private let bus: PrivateBus! = Fixture.current()
    private static let managed = ["NOTIFY_SOCKET": "/nowhere/notify"]
    private static let bad = "[defaults]\nwindw = \"1s\"\n"

    @Test func everyCallIsAnsweredWithThePlaceOfTheMistake() async throws {
        try await withBadlyConfigured { daemon, connection in
            for call in [
                Message.toRouter("Send", ["/post/27", "", ""]), .toRouter("NoSuchMethod"),
                .call(
                    "Get", of: "org.freedesktop.DBus.Properties", at: Router.path, on: Router.name,
                    [.string(Router.interface), "Version"]),
                .call("Introspect", of: "org.freedesktop.DBus.Introspectable", at: "/", on: Router.name),
            ] {
                let error = await #expect(throws: NotifyError.self) { _ = try await connection.call(call) }
                #expect(error?.name == "org.freedesktop.DBus.Error.InvalidFileContent")
                #expect(error?.code == .notReachable)
                #expect(error?.message.contains("/config.toml:2:1: ") == true, "\(error.map { "\($0)" } ?? "")")
            }
            _ = try await connection.call(
                .call("Ping", of: "org.freedesktop.DBus.Peer", at: Router.path, on: Router.name))
            daemon.signal(SIGTERM)
            #expect(await daemon.waitForExit() == .code(78))
        }
    }

    @Test func notifyctlExitsWith78AndNamesThePlace() async throws {
        try await withBadlyConfigured { daemon, _ in
            for arguments in [["send", "/a"], ["status"], ["listen"], ["why", "1"]] {
                let result = try await ChildProcess.run(
                    BuiltPrograms.notifyctl, arguments, environment: daemon.environment)
                #expect(result.code == 78, "\(arguments)")
                #expect(
                    result.errors.contains { $0.contains("/config.toml:2:1: ") }, "\(arguments): \(result.errors)")
            }
        }
    }

    @Test func itStartsOnceTheFileIsCorrected() async throws {
        try await withBadlyConfigured { daemon, connection in
            let send = Message.toRouter("Send", ["/post/27", "", ""])
            await #expect(throws: NotifyError.self) { _ = try await connection.call(send) }
            try daemon.configure("[defaults]\nwindow = \"230ms\"\n")
            #expect(try await connection.call(send).arguments.first?.integer(as: UInt64.self) != nil)
            #expect(try await connection.owner(of: Router.name) != nil)
            #expect(await daemon.stop() == .code(0))
        }
    }

    @Test func withoutCallersItExitsWith78() async throws {
        try await withBadlyConfigured { daemon, _ in
            #expect(await daemon.waitForExit() == .code(78))
            #expect(daemon.log.contains("config.toml:2:1: "))
        }
    }

    @Test(.privateBus) func startedByHandItExitsWith78AndTakesNoName() async throws {
        let daemon = try DaemonProcess(BuiltPrograms.notifyd, on: bus, configuration: Self.bad)
        defer { daemon.folder.remove() }
        await #expect(throws: RehearsalError.self) { try await daemon.start() }
        #expect(daemon.exit == .code(78))
    }

    @Test(arguments: [bad, ""])
    func theCallByWhichTheBusStartsItIsAnswered(_ configuration: String) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try folder.write(configuration, to: "config.toml")
        try folder.write(
            """
            [D-BUS Service]
            Name=\(Router.name)
            Exec=\(BuiltPrograms.notifyd) --config \(folder.path)/config.toml --state \(folder.path)/state

            """, to: "services/\(Router.name).service")
        try await withPrivateBus(serviceFolder: folder.path + "/services") { bus in
            let client = try await NotifyClient(address: bus.address)
            if configuration.isEmpty {
                _ = try await client.send("/post/27")
            } else {
                let error = await #expect(throws: NotifyError.self) { try await client.send("/post/27") }
                #expect(error?.message.contains("/config.toml:2:1: ") == true, "\(error.map { "\($0)" } ?? "")")
            }
            await client.close()
        }
    }

    /// It has its name when `body` begins.
    private func withBadlyConfigured(_ body: (DaemonProcess, Connection) async throws -> Void) async throws {
        try await withPrivateBus { bus in
            let daemon = try await DaemonProcess.start(
                BuiltPrograms.notifyd, on: bus, configuration: Self.bad, environment: Self.managed)
            let connection = try await Connection.open(bus.address)
            try await finally {
                connection.close()
                await daemon.stop()
                daemon.folder.remove()
            } after: {
                try await body(daemon, connection)
            }
        }
    }
}
