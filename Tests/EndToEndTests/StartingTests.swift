import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The bus can start the daemon, which does not run yet.
@Suite(.timeLimit(.minutes(1)))
struct StartingTests {
    @Test(arguments: [["status"], ["quiet"], ["top", "-n", "1"], ["top", "--json=short"], ["doctor"]])
    func aCommandThatOnlyReadsStateStartsNothing(_ command: [String]) async throws {
        try await withActivation { bus, environment in
            let process = try ChildProcess(
                BuiltPrograms.notifyctl, command, environment: environment, capturing: [1, 2])
            #expect(await process.waitForExit() != .code(0))
            #expect(try await !hasDaemon(bus))
        }
    }

    @Test func aCommandThatPublishesStartsIt() async throws {
        try await withActivation { bus, environment in
            let process = try ChildProcess(BuiltPrograms.notifyctl, ["send", "/post/27"], environment: environment)
            #expect(await process.waitForExit() == .code(0))
            #expect(try await hasDaemon(bus))
        }
    }

    private func hasDaemon(_ bus: PrivateBus) async throws -> Bool {
        let connection = try await Connection.open(bus.address)
        defer { connection.close() }
        return try await connection.call(
            .call("NameHasOwner", of: Bus.interface, at: Bus.path, on: Bus.name, [.string(Router.name)])
        ).arguments == [.boolean(true)]
    }

    private func withActivation(_ body: (PrivateBus, [String: String]) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try folder.write(
            """
            [D-BUS Service]
            Name=\(Router.name)
            Exec=\(BuiltPrograms.notifyd) --state \(folder.path)/state

            """, to: "services/\(Router.name).service")
        try await withPrivateBus(serviceFolder: folder.path + "/services") { bus in
            try await body(
                bus,
                [
                    "HOME": folder.path, "XDG_CONFIG_HOME": "\(folder.path)/config",
                    "XDG_STATE_HOME": "\(folder.path)/state", "DBUS_SESSION_BUS_ADDRESS": bus.address,
                    "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder.path)/no-system-bus",
                ])
        }
    }
}
