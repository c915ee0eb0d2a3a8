import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import NotifyText
import Testing

/// The commands of `notifyctl link`, with a real broker.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct NotifyctlTests {
    private let rig: LinkRig! = Fixture.current()

    private func parse(_ lines: [String]) throws -> JSON { try JSONParser.parse(Array((lines.first ?? "").utf8)) }

    /// What the broker keeps below a topic: lines of topic and content.
    private func retained(_ rig: LinkRig, _ topic: String) async throws -> [String] {
        try await rig.broker.publish("end", to: "mark", "-r")
        // The filters are answered in their order.
        let reader = try ChildProcess(
            "/usr/bin/mosquitto_sub",
            ["--unix", rig.broker.socket, "-v", "-F", "%t %l", "--retained-only", "-t", topic, "-t", "mark"],
            environment: ["PATH": "/usr/bin:/bin"], capturing: [1])
        defer { reader.signal(SIGKILL) }
        var found: [String] = []
        while let line = await reader.lines(of: 1).next(within: .seconds(30)), !line.hasPrefix("mark ") {
            found.append(line)
        }
        return found
    }

    @Test(.link) func theOverviewShowsTheBrokerAndTheDevices() async throws {
        let text = try await rig.one.notifyctl("link")
        #expect(text.code == 0, "\(text.errors)")
        let own = try await rig.one.client.device()
        #expect(text.output.first == "This is desk, \(own), of “mina” at unix:\(rig.broker.socket).")
        #expect(text.output.contains { $0.hasPrefix("link  connected") })
        #expect(text.output.contains { $0.hasPrefix("  laptop  online") }, "\(text.output)")
        let json = try parse(try await rig.one.notifyctl("link", "--json=short").output)
        #expect(json["device"]?.string == own && json["name"]?.string == "desk" && json["user"]?.string == "mina")
        #expect(json["dead-letters"]?.integer() == 0)
        let line = try #require(json["lines"]?.elements?.first)
        #expect(line["line"]?.string == "mqtt" && line["state"]?.string == "connected")
        #expect(line["sealed"]?.boolean == true)
        let device = try #require(line["devices"]?.elements?.first)
        #expect(device["name"]?.string == "laptop" && device["online"]?.boolean == true)
        #expect(try await device["device"]?.string == rig.two.client.device())
    }

    @Test(.link(1, isStarted: false)) func withoutALinkItSaysHowToGetOne() async throws {
        for command in [["link"], ["link", "test"], ["link", "forget", "phone"], ["link", "leave", "--yes"]] {
            let result = try await rig.one.notifyctl(command)
            #expect(result.code == 69, "\(command) \(result)")
            #expect(result.errors.first?.contains("systemctl --user enable --now notifyd-mqtt") == true)
        }
    }

    @Test(.link(3)) func aTestReachesEveryDeviceAndNamesWhoDoesNotAnswer() async throws {
        let all = try await rig.one.notifyctl("link", "test", "--json=short")
        #expect(all.code == 0, "\(all)")
        let devices = try #require(try parse(all.output)["devices"]?.elements)
        #expect(Set(devices.compactMap { $0["name"]?.string }) == ["laptop", "phone"])
        for device in devices {
            let time: Int64 = try #require(device["round-trip-microseconds"]?.integer())
            #expect(time > 0 && device["line"]?.string == "mqtt")
        }
        let overview = try parse(try await rig.one.notifyctl("link", "--json=short").output)
        let known = overview["lines"]?.elements?.first?["devices"]?.elements
        #expect(known?.allSatisfy { $0["round-trip-microseconds"]?.integer() ?? 0 > 0 } == true)
        // It hangs, and the broker does not know.
        rig.devices[2].bridge.signal(SIGSTOP)
        let rest = try await rig.one.notifyctl("link", "test", "--timeout", "500ms")
        rig.devices[2].bridge.signal(SIGCONT)
        #expect(rest.code == 1)
        #expect(rest.output.contains { $0.hasPrefix("phone") && $0.contains("no answer within 500 ms") }, "\(rest)")
    }

    @Test(.link(1)) func aTestWithoutOthersFindsNobody() async throws {
        let result = try await rig.one.notifyctl("link", "test")
        #expect(result.code == 1 && result.output == ["No other device is online."], "\(result)")
    }

    @Test(.link) func aForgottenDeviceIsGoneHereAndFromTheBroker() async throws {
        let other = try await rig.two.client.device()
        let online = try await rig.one.notifyctl("link", "forget", "laptop")
        #expect(online.code == 77 && online.errors.first?.contains("is online") == true, "\(online)")
        let unknown = try await rig.one.notifyctl("link", "forget", "phone")
        #expect(unknown.code == 1 && unknown.errors.first?.contains("has no device phone") == true)
        #expect(try await retained(rig, "notifyd/1/mina/#").count { $0.contains(other) } == 2)
        #expect(
            try await rig.one.notifyctl("---completion", "link", "forget", "--", "positional@0", "0", "0", "x")
                .output == ["laptop"])
        await rig.two.bridge.kill()
        try await rig.one.until("the other is offline") { try await !rig.one.isOnline("laptop") }
        let forgotten = try await rig.one.notifyctl("link", "forget", "laptop")
        #expect(forgotten.code == 0 && forgotten.output == ["laptop is forgotten."], "\(forgotten)")
        #expect(try await retained(rig, "notifyd/1/mina/#").count { $0.contains(other) } == 0)
        await rig.one.bridge.stop()
        try await rig.one.bridge.start()
        #expect(try await rig.one.bridge.property("Peers")?.elements?.isEmpty == true)
    }

    @Test(.link) func whoLeavesLeavesNothingButItsValues() async throws {
        let device = try await rig.two.client.device()
        try await rig.two.client.publish(
            "/run/1", title: "value", options: PublishOptions(retain: true, banner: false))
        try await rig.one.hears("value")
        let question = try await rig.two.notifyctl("link", "leave")
        #expect(question.code == 64, "\(question)")
        let left = try await rig.two.notifyctl("link", "leave", "--yes")
        let folder = rig.two.bridge.folder.path + "/config/notifyd"
        #expect(left.code == 0, "\(left) \(rig.two.bridge.log)")
        #expect(
            left.output == [
                "Deleted \(folder)/link.key.", "The configuration is now \(folder)/mqtt.toml.old.",
                "This device has left the link.",
            ])
        #expect(await rig.two.bridge.waitForExit(within: .seconds(30)) == .code(0))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["mqtt.toml.old"])
        let kept = try await retained(rig, "notifyd/1/mina/#")
        #expect(kept.count { $0.contains(device) } == 0)
        #expect(kept.count { $0.contains("/v/") } == 1)
        try await rig.one.until("the other is gone") { try await rig.one.bridge.property("Peers")?.elements == [] }
        // It may come back, as a new one.
        try rig.two.bridge.writeSecret(LinkRig.key, to: "link.key")
        try rig.two.bridge.configure(LinkRig.configuration(rig.broker, "laptop"))
        try await rig.two.bridge.start()
        try await rig.one.until("the other is back") { try await rig.one.isOnline("laptop") }
        try await rig.one.client.publish("/post/27", title: "again", options: PublishOptions(banner: false))
        try await rig.two.hears("again")
    }

    @Test(.link(1)) func withoutABrokerItLeavesOnlySilently() async throws {
        await rig.broker.kill()
        try await rig.one.until(state: "waiting")
        let refused = try await rig.one.notifyctl("link", "leave", "--yes")
        #expect(refused.code == 69 && refused.errors.first?.contains("not connected") == true, "\(refused)")
        #expect(refused.errors.first?.contains("notifyctl link leave --silent") == true, "\(refused)")
        #expect(try await rig.one.bridge.property("State")?.string == "waiting")
        #expect(try await rig.one.notifyctl("link", "leave", "--yes", "--silent").code == 0)
        #expect(await rig.one.bridge.waitForExit(within: .seconds(30)) == .code(0))
    }

    @Test(.link) func aResetGivesANewDeviceAndEventsKeepTheirNames() async throws {
        let before = try await rig.two.client.device()
        try await rig.two.client.publish("/post/27", title: "before", options: PublishOptions(banner: false))
        try await rig.one.hears("before")
        let refused = try await rig.two.notifyctl("link", "reset")
        #expect(refused.code == 77 && refused.output.contains("2. notifyd --new-device"), "\(refused)")
        #expect(try await rig.two.client.device() == before)

        let manager = try await StandInManager(rig.two)
        let reset = try await rig.two.notifyctl("link", "reset")
        await manager.close()
        let after = try await rig.two.client.device()
        let words =
            "This machine is now device \(after). Give one of the two machines another name in mqtt.toml, and run "
            + "“notifyctl link forget” on the other devices, with the device that both had."
        #expect(reset.code == 0 && reset.output == [words], "\(reset)")
        #expect(after != before)
        #expect(
            manager.calls == [
                "StopUnit notifyd-mqtt.service", "StopUnit notifyd.service", "ResetFailedUnit notifyd.service",
                "StartUnit notifyd.service", "ResetFailedUnit notifyd-mqtt.service",
                "StartUnit notifyd-mqtt.service",
            ])
        try await rig.one.sees(device: after)
        try await rig.two.client.publish("/post/27", title: "after", options: PublishOptions(banner: false))
        try await rig.one.hears("after")
        // What it says again under its new name is what is there.
        #expect(try await rig.one.titles() == ["before", "after"])
        let events = try await rig.one.client.journalChanges().changes.filter { $0.kind == "event" }
        #expect(events.map { $0.details["source"]?.string } == ["notifyd:" + before, "notifyd:" + after])
    }

    @Test(.link(1, isSealed: false)) func doctorSaysThatTheBrokerReadsALinkWithoutAKey() async throws {
        let findings = try await rig.one.notifyctl("doctor", "--json=short").output
        let link = try #require(parse(findings)["findings"]?.elements?.filter { $0["check"]?.string == "link" })
        #expect(link.map { $0["level"]?.string } == ["warning"])
        #expect(link.first?["state"]?.string?.contains("the broker reads everything") == true)
    }

    @Test(.link(isStarted: false)) func anotherKeyIsNamed() async throws {
        try rig.two.bridge.writeSecret(String(LinkRig.key.dropLast(4)) + "Hx4=", to: "link.key")
        for device in rig.devices { try await device.bridge.start() }
        try await rig.two.until("the other key is noticed") {
            try await rig.two.bridge.property("Detail")?.string?.contains(
                "cannot be opened: the others have another key")
                ?? false
        }
        let link = try await rig.two.notifyctl("link")
        #expect(
            link.output.contains { $0.hasPrefix("link  connected") && $0.contains("have another key") }, "\(link)")
        let findings = try await rig.two.notifyctl("doctor").output
        #expect(findings.contains { $0.contains("link: ") && $0.contains("have another key") }, "\(findings)")
        #expect(findings.contains { $0.contains("notifyctl link pair") && $0.contains("notifyctl link join") })
        await rig.two.bridge.stop()
        try rig.two.bridge.writeSecret(LinkRig.key, to: "link.key")
        try await rig.two.bridge.start()
        try await rig.two.until("the other is online") { try await rig.two.isOnline("desk") }
        #expect(try await rig.two.bridge.property("Detail")?.string?.contains("cannot be opened") == false)
    }

    // MARK: Mistakes

    @Test(.link(1, isStarted: false)) func aMissingKeyIsTheStateOfTheLink() async throws {
        let key = rig.one.bridge.folder.path + "/config/notifyd/link.key"
        try FileManager.default.removeItem(atPath: key)
        try rig.one.bridge.launch()
        try await rig.one.until(state: "failed")
        let link = try await rig.one.notifyctl("link")
        #expect(link.output.first == "This is desk, of “mina” at unix:\(rig.broker.socket).", "\(link)")
        #expect(link.output.contains { $0.hasPrefix("mqtt  failed  the file \(key) is not there") }, "\(link)")
    }

    @Test(.link(1, isStarted: false)) func withABadConfigurationItSaysTheMistake() async throws {
        try rig.one.bridge.configure("[link]\nserver = 7\n")
        let link = try await rig.one.notifyctl("link")
        #expect(link.code == 78 && link.errors.contains { $0.contains("mqtt.toml:2:") }, "\(link)")
    }

    @Test(.link(1, link: "password = { file = \"mqtt.password\" }", isStarted: false)) func theCheckReadsTheSecrets()
        async throws
    {
        try rig.one.bridge.writeSecret("secret", to: "mqtt.password")
        let good = try rig.one.bridge.launch(["--check-config"])
        #expect(await good.waitForExit(within: .seconds(30)) == .code(0))
        try rig.one.bridge.writeSecret("short", to: "link.key")
        #expect(chmod(rig.one.bridge.folder.path + "/config/notifyd/mqtt.password", 0o644) == 0)
        let bad = try rig.one.bridge.launch(["--check-config"])
        #expect(await bad.waitForExit(within: .seconds(30)) == .code(78))
        let lines = await bad.allLines(of: 2) ?? []
        #expect(lines.count == 2, "\(lines)")
        #expect(lines.contains { $0.contains("link.key is not a key") })
        #expect(lines.contains { $0.contains("mqtt.password can be read or written by others") })
    }

    @Test(.link) func aReloadWithABadKeyChangesNothing() async throws {
        try rig.two.bridge.writeSecret("short", to: "link.key")
        rig.two.bridge.signal(SIGHUP)
        try await rig.two.until("it is told") { rig.two.bridge.log.contains("the previous one stays in force") }
        #expect(try await rig.two.bridge.property("State")?.string == "connected")
        try await rig.one.client.publish("/post/27", title: "still", options: PublishOptions(banner: false))
        try await rig.two.hears("still")
    }

    // MARK: The interface

    @Test(.link) func errorsHaveNames() async throws {
        @Sendable func name(_ member: String, _ argument: Value) async throws -> String? {
            do throws(NotifyError) {
                let connection = try await Connection.open(rig.one.bus.address)
                defer { connection.close() }
                _ = try await connection.call(
                    .call(
                        member, of: "org.notifyd.Link1", at: "/org/notifyd/Bridge1", on: LinkRig.bridge,
                        autoStart: false, [argument]))
                return nil
            } catch {
                return error.name
            }
        }
        let prefix = "org.notifyd.Link1.Error."
        let nobody = Value.string(String(repeating: "0", count: 32))
        #expect(try await name("ForgetDevice", nobody) == prefix + "UnknownDevice")
        #expect(try await name("ForgetDevice", "laptop") == "org.freedesktop.DBus.Error.InvalidArgs")
        #expect(try await name("Test", .uint32(0)) == "org.freedesktop.DBus.Error.InvalidArgs")
        let other = try await Value.string(rig.two.client.device())
        #expect(try await name("ForgetDevice", other) == prefix + "DeviceOnline")
        rig.two.bridge.signal(SIGSTOP)
        // Nobody answers the test that begins first until the other device goes on.
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<2 { group.addTask { try? await name("Test", .uint32(60_000)) } }
            #expect(await group.next() == prefix + "Busy")
            rig.two.bridge.signal(SIGCONT)
            #expect(await group.next() == .some(nil))
        }
        await rig.broker.kill()
        try await rig.one.until(state: "waiting")
        #expect(try await name("Test", .uint32(100)) == prefix + "NotConnected")
        #expect(try await name("Leave", .boolean(false)) == prefix + "NotConnected")
        #expect(try await name("ForgetDevice", other) == prefix + "NotConnected")
    }

    @Test(.link(1)) func itIsIntrospectedAsItsContractSays() async throws {
        let connection = try await Connection.open(rig.one.bus.address)
        defer { connection.close() }
        let text = try await connection.call(
            .call(
                "Introspect", of: "org.freedesktop.DBus.Introspectable", at: "/org/notifyd/Bridge1",
                on: LinkRig.bridge, autoStart: false, [])
        ).arguments.first?.string
        let own = try interfaceMembers(of: "org.notifyd.Link1", in: try #require(text))
        let contract = try Project.text("systemd/org.notifyd.Link1.xml")
        #expect(try own == interfaceMembers(of: "org.notifyd.Link1", in: contract) && own.count == 4)
    }
}
