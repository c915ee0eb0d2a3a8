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

/// Servers that are not there, and that the bus can start.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ServerStartTests {
    private let stage: BannerStage! = Fixture.current()

    @Test func theFirstBannerThatIsDueHasTheBusStartAServer() async throws {
        try await withServiceFile { folder, sign in
            try await withBannerStage(serviceFolder: folder) { stage in
                let silent = try await stage.client.publish("/run/r1/mate/Mina", fields: ["distance": .uint32(1)])
                _ = try await stage.client.explain(silent)
                #expect(!FileManager.default.fileExists(atPath: sign))
                let id = try await stage.client.send("/note/1", title: "one")
                try await stage.until("the program of the service runs") {
                    FileManager.default.fileExists(atPath: sign)
                }
                let server = try await stage.server()
                #expect(try await stage.outcome(of: id).kind == "shown")
                #expect(try await stage.banner(on: server).title == "one")
                #expect(try await stage.statistic("server-start-failures") == 0)
            }
        }
    }

    @Test(.bannerStage) func aServerThatCannotBeStartedIsLoggedAndCounted() async throws {
        _ = try await stage.client.send("/note/1", title: "one")
        try await stage.logged("The bus could not start a notification server")
        try await stage.until("server-start-failures", is: 1)
    }

    /// A service whose program leaves a sign. The server itself is in this process.
    private func withServiceFile(_ body: (_ folder: String, _ sign: String) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let sign = folder.path + "/started"
        try folder.write(
            """
            [D-BUS Service]
            Name=org.freedesktop.Notifications
            Exec=/bin/sh -c "touch \(sign); exec sleep 20"

            """, to: "org.freedesktop.Notifications.service")
        try await body(folder.path, sign)
    }
}

/// Where the state is kept.
@Suite(.timeLimit(.minutes(1)))
struct StateDirectoryTests {
    private let rig: FaultRig! = Fixture.current()

    @Test func aRelativeStateDirectoryIsRelativeToTheWorkingDirectory() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let command = ["sh", "-c", "cd '\(folder.path)'; exec \"$0\" --state some/where"]
        try await withFaultRig(through: command) { rig in
            _ = try await rig.send("/note/1")
            #expect(FileManager.default.fileExists(atPath: folder.path + "/some/where/index.db"))
            #expect(!FileManager.default.fileExists(atPath: "/some"))
        }
    }

    @Test(.faultRig) func aJournalHasANameThatItKeeps() async throws {
        let name = try #require(try await rig.property("Device")?.string)
        #expect(name.count == 32 && name.allSatisfy { "0123456789abcdef".contains($0) })
        try await rig.daemon.restart()
        #expect(try await rig.property("Device")?.string == name)
        // A new journal is another one.
        await rig.daemon.kill()
        try FileManager.default.removeItem(atPath: rig.state)
        try await rig.daemon.start()
        #expect(try await rig.property("Device")?.string?.count == 32)
        #expect(try await rig.property("Device")?.string != name)
    }

    @Test(.faultRig) func aNewDeviceIsTakenWhileNotifydDoesNotRun() async throws {
        let name = try #require(try await rig.property("Device")?.string)
        let id = try await rig.send("/note/1")
        func take() async throws -> CommandResult {
            try await ChildProcess.run(
                BuiltPrograms.notifyd, ["--new-device"], environment: rig.daemon.environment, within: .seconds(30))
        }
        let refused = try await take()
        #expect(refused.exit == .code(69) && refused.output.isEmpty)
        #expect(refused.errors.first?.contains("Stop notifyd first") == true)
        #expect(try await rig.property("Device")?.string == name)
        await rig.daemon.stop()
        let taken = try await take()
        #expect(taken.exit == .code(0), "\(taken)")
        try await rig.daemon.start()
        let new = try await rig.property("Device")?.string
        #expect(taken.output == [new] && new != name && new?.count == 32)
        // What was published before keeps its global name.
        let client = try await NotifyClient(address: rig.bus.address)
        let event = try await client.journalChanges().changes.first { $0.kind == "event" && $0.id.rawValue == id }
        await client.close()
        #expect(event?.details["source"]?.string == "notifyd:" + name)
        #expect(event?.details["event-id"]?.string == "\(id)")
        await rig.daemon.stop()
        try FileManager.default.removeItem(atPath: rig.state)
        #expect(try await take().exit == .code(66))
        try await rig.daemon.start()
    }

    @Test func aRelativeVariableIsIgnored() async throws {
        let name = "rel-\(UUID().uuidString)"
        try await withFaultRig(state: name) { rig in
            _ = try await rig.send("/note/1")
            #expect(FileManager.default.fileExists(atPath: rig.daemon.folder.path + "/.local/state/notifyd/index.db"))
            #expect(!FileManager.default.fileExists(atPath: "/" + name))
        }
    }
}
