import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// `notifyctl doctor` as a process: what it finds among a bus, a daemon and a notification server, well and unwell.
@Suite(.timeLimit(.minutes(1))) struct DoctorTests {
    private let stage: Stage! = Fixture.current()

    @Test(.diagnosis) func whereAllIsWellItSaysSoAndSucceeds() async throws {
        let server = try await NotificationServer.start(on: stage.bus)
        try await stage.daemon.start()
        let report = try await stage.report()
        #expect(report.isWell, "\(report.findings)")
        #expect(report.exit == .code(0))
        #expect(report["bus"]?["state"] == stage.bus.address)
        #expect(report["notifyd"]?["state"]?.contains("process \(stage.daemon.identifier ?? 0)") == true)
        #expect(report["notification server"]?["state"] == "rehearsal 1")
        #expect(report["journal"]?["state"]?.hasPrefix(stage.state + "/index.db, mode 600") == true)
        #expect(report["sandbox"]?["state"]?.hasPrefix("none") == true)
        #expect(report["configuration"]?["state"]?.contains("/config.toml") == true)
        // This notifyctl has neither.
        #expect(
            report["configuration"]?["state"]?.hasSuffix(
                "(read as the running notifyd does, which has another XDG_CONFIG_DIRS, XDG_DATA_DIRS)") == true)
        server.stop()
    }

    @Test(.diagnosis, arguments: [NotificationServer.Quirks.gnome, .plasma, .mako, .failsFirstCapabilitiesCall])
    func theHabitsOfRealServersAreNoFault(_ quirks: NotificationServer.Quirks) async throws {
        let server = try await NotificationServer.start(on: stage.bus, quirks: quirks)
        #expect(try await stage.report()["notification server"]?["level"] == "ok")
        server.stop()
    }

    @Test(.diagnosis) func aServerThatHangsIsAProblemAndHangsNobody() async throws {
        let server = try await Connection.open(stage.bus.address)
        server.export(NotificationServer.name) { _ in }
        try await server.requestName(NotificationServer.name)
        let finding = try #require(try await stage.report()["notification server"])
        #expect(finding["level"] == "problem")
        #expect(finding["state"]?.contains("(process \(getpid())) hangs") == true)
        #expect(finding["advice"] != nil)
        server.close()
    }

    @Test(.diagnosis) func aBannerThatWaitsForAServerIsSaid() async throws {
        try stage.daemon.configure("[banner]\nstart_server = false\n")
        try await stage.daemon.start()
        let client = try await NotifyClient(address: stage.bus.address)
        _ = try await client.publish("/note/1", title: "news", body: "")
        try await waitUntil("the banner is due", within: .seconds(10), stage.daemon) {
            try await client.statistics()["waiting-banners"] == 1
        }
        let finding = try #require(try await stage.report()["notification server"])
        #expect(finding["level"] == "warning")
        #expect(finding["state"]?.contains("a banner waits for it") == true)
        // One that is there and takes nothing.
        let server = try await Connection.open(stage.bus.address)
        server.export(NotificationServer.name) { call in
            switch call.message.member {
            case "GetServerInformation": call.reply(["broken", "nobody", "1", "1.2"])
            case "GetCapabilities": call.reply([.array([], of: .string)])
            default: call.fail("org.example.Broken", "broken")
            }
        }
        try await server.requestName(NotificationServer.name)
        try await waitUntil("it has failed", within: .seconds(10), stage.daemon) {
            try await client.statistics()["banner-failures"] ?? 0 > 0
        }
        #expect(try await stage.report()["notification server"]?["level"] == "warning")
        server.close()
        await client.close()
    }

    @Test(.diagnosis(isActivatable: false)) func whatIsNotThereIsNamedWithWhatToDo() async throws {
        let report = try await stage.report()
        #expect(report.exit == .code(1))
        #expect(report["notifyd"]?["level"] == "problem")
        #expect(report["notifyd"]?["advice"]?.contains("systemctl --user start notifyd") == true)
        #expect(report["activation"]?["advice"]?.contains("org.notifyd.Router1.service") == true)
        #expect(report["notification server"]?["level"] == "warning")
        // Nothing runs that could be in a sandbox.
        #expect(report["sandbox"] == nil)
    }

    @Test(.diagnosis) func aJournalThatCannotBeWrittenIsAProblem() async throws {
        try stage.daemon.folder.write("no folder", to: "state/notifyd")
        try await stage.daemon.start()
        let finding = try #require(try await stage.report()["journal"])
        #expect(finding["level"] == "problem")
        #expect(finding["state"]?.contains(stage.state) == true)
        #expect(finding["advice"]?.hasSuffix("notifyd continues within seconds.") == true)
        let connection = try await Connection.open(stage.bus.address)
        let rows = try await connection.call(.toRouter("Diagnose")).arguments.first?.elements
        #expect(rows?.first?.elements?.first?.string == "journal")
        connection.close()
    }

    @Test(.diagnosis) func aBadConfigurationIsNamedWithItsPlace() async throws {
        try stage.daemon.configure("[defaults]\nwindw = \"1s\"\n")
        let finding = try #require(try await stage.report()["configuration"])
        #expect(finding["level"] == "problem")
        #expect(finding["state"]?.contains("windw") == true)
        #expect(finding["state"]?.contains("config.toml:2:") == true)
    }

    /// The caller has the program in its `PATH`, and notifyd does not.
    @Test(.diagnosis) func theProgramsOfButtonsAreLookedForAsNotifydDoes() async throws {
        let tools = try stage.daemon.folder.folder("tools")
        let tool = try stage.daemon.folder.write("#!/bin/sh\n", to: "tools/own-tool")
        #expect(chmod(tool, 0o755) == 0)
        try stage.daemon.configure(
            #"""
            [[route]]
            topic = "/a"
            actions = [
                { key = "a", label = "A", exec = ["own-tool"] }, { key = "b", label = "B", exec = ["notifyctl"] },
            ]
            """#)
        try await stage.daemon.start(with: ["PATH": "/usr/bin:/bin"])
        let missing = "there is no program own-tool, for the button \"A\" of /a"
        let report = try await stage.report(path: tools)
        #expect(report["configuration"]?["level"] == "warning")
        #expect(report["configuration"]?["state"]?.contains(missing) == true)
        let check = try await stage.check(path: tools)
        #expect(check.contains("Missing programs:") && check.contains("  own-tool, for the button \"A\" of /a"))
        #expect(!check.contains { $0.contains("notifyctl") })
        // Where no notifyd runs, the service manager will start it.
        await stage.daemon.stop()
        let manager = try await Connection.open(stage.bus.address)
        let name = "org.freedesktop.systemd1"
        manager.export("\(name).Manager") { $0.reply([.objectPath("/org/freedesktop/systemd1/unit/notifyd")]) }
        manager.export("org.freedesktop.DBus.Properties") { call in
            call.reply([.variants(["LoadState": "loaded", "Environment": .strings(["PATH=\(tools)"])])])
        }
        try await manager.requestName(name)
        #expect(try await !stage.check(path: "/usr/bin:/bin").contains("Missing programs:"))
        manager.close()
    }

    @Test(.diagnosis) func aButtonThatFailedIsAWarning() async throws {
        try stage.daemon.configure(
            "[[route]]\ntopic = \"/a\"\nactions = [{ key = \"a\", label = \"A\", exec = [\"false\"] }]\n")
        try await stage.daemon.start()
        let client = try await NotifyClient(address: stage.bus.address)
        let id = try await client.publish("/a", options: PublishOptions(window: .seconds(60)))
        try await client.press("a", of: id)
        try await waitUntil("it has failed", within: .seconds(10), stage.daemon) {
            try await client.statistics()["failed-commands"] == 1
        }
        let finding = try #require(try await stage.report()["buttons"])
        #expect(finding["level"] == "warning")
        #expect(finding["state"]?.hasPrefix("“A” of /a failed: exit code 1 (") == true)
        await client.close()
    }

    /// Something else has the names of notifyd and of notifyd-focus, and answers in its own way.
    @Test(.diagnosis) func aProgramThatUsesTheNamesIsNotToldToHang() async throws {
        let other = try await Connection.open(stage.bus.address)
        other.export("org.freedesktop.DBus.Properties") { $0.fail("org.example.Other", "what?") }
        other.export(Router.interface) { $0.reply(["what?"]) }
        other.export("org.notifyd.Focus1") { $0.reply([.array([], of: .string)]) }
        for name in [Router.name, "org.notifyd.Focus1"] { try await other.requestName(name) }
        let report = try await stage.report()
        for check in ["notifyd", "focus"] {
            #expect(report[check]?["level"] == "problem")
            #expect(report[check]?["state"]?.contains("(process \(getpid())) has the name org.notifyd.") == true)
            #expect(report[check]?["state"]?.hasSuffix("does not have the form of that interface") == true)
        }
        other.close()
    }

    @Test(.diagnosis) func withoutABusThatIsAllThereIsToSay() async throws {
        let report = try await stage.report("--address", "unix:path=/nowhere/bus")
        #expect(report.exit == .code(1))
        #expect(report.findings.map { $0["check"] } == ["bus"])
        let words = try await stage.run("--address", "unix:path=/nowhere/bus")
        #expect(words.output.first?.hasPrefix("problem  bus  The message bus at unix:path=/nowhere/bus") == true)
        #expect(words.output.count == 2)
        // libdbus ends this text with a newline.
        let long = try await stage.report("--address", "unix:path=/" + String(repeating: "a", count: 200))
        #expect(long["bus"]?["state"]?.hasSuffix("Socket name too long.") == true)
    }
}

/// A bus with a daemon that is not started yet.
private struct Stage {
    struct Report {
        let exit: ChildProcess.Exit?
        let isWell: Bool
        let findings: [[String: String]]

        subscript(check: String) -> [String: String]? { findings.first { $0["check"] == check } }
    }

    let bus: PrivateBus
    let daemon: DaemonProcess

    var state: String { daemon.folder.path + "/state/notifyd" }

    func run(_ arguments: String...) async throws -> CommandResult { try await run(["doctor"] + arguments) }

    /// The lines of “config check”.
    func check(path: String) async throws -> [String] { try await run(["config", "check"], path: path).output }

    /// - Parameter path: the `PATH` of the caller.
    func report(_ arguments: String..., path: String? = nil) async throws -> Report {
        let result = try await run(["doctor", "--json=short"] + arguments, path: path)
        let line = try #require(result.output.first)
        let json = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        return Report(
            exit: result.exit, isWell: json["well"] as? Bool ?? false,
            findings: json["findings"] as? [[String: String]] ?? [])
    }

    private func run(_ arguments: [String], path: String? = nil) async throws -> CommandResult {
        let folder = daemon.folder.path
        return try await ChildProcess.run(
            BuiltPrograms.notifyctl, arguments,
            environment: (path.map { ["PATH": $0] } ?? [:]).merging([
                "HOME": folder, "XDG_CONFIG_HOME": "\(folder)/config", "XDG_STATE_HOME": "\(folder)/state",
                "DBUS_SESSION_BUS_ADDRESS": bus.address,
                "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder)/no-system-bus",
            ]) { $1 })
    }
}

private func withDiagnosis(isActivatable: Bool = true, _ body: (Stage) async throws -> Void) async throws {
    let services = try TemporaryFolder()
    if isActivatable {
        try services.write(
            "[D-BUS Service]\nName=\(Router.name)\nExec=/bin/false\n", to: "\(Router.name).service")
    }
    try await withPrivateBus(serviceFolder: services.path) { bus in
        let daemon = try DaemonProcess(BuiltPrograms.notifyd, on: bus)
        try await finally {
            await daemon.stop()
            daemon.folder.remove()
        } after: {
            try await body(Stage(bus: bus, daemon: daemon))
        }
    }
    services.remove()
}

extension Trait where Self == Fixture {
    fileprivate static var diagnosis: Self { diagnosis() }

    fileprivate static func diagnosis(isActivatable: Bool = true) -> Self {
        Fixture { try await withDiagnosis(isActivatable: isActivatable, $0) }
    }
}
