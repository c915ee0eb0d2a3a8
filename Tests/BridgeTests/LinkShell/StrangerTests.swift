import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Somebody who may write at the broker, and has no key: what he sends is counted, told once, and does nothing.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct StrangerTests {
    private let rig: LinkRig! = Fixture.current()
    private static let script =
        #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/Strangers/stranger.py"

    /// Somebody without the key has a sealed message kept, and a device that is new finds it.
    @Test(.link(isStarted: false)) func anOldMessageThatTheBrokerKeepsIsNoNews() async throws {
        try await rig.one.bridge.start()
        let environment = ["PATH": "/usr/bin:/bin"]
        let listener = try ChildProcess(
            "/usr/bin/mosquitto_sub",
            ["--unix", rig.broker.socket, "-q", "1", "-t", "ready", "-t", "notifyd/1/mina/s/+", "-F", "%t %p"],
            environment: environment, capturing: [1])
        defer { listener.signal(SIGKILL) }
        try await rig.broker.publish("yes", to: "ready", "-r")
        #expect(await listener.lines(of: 1).next(within: .seconds(30)) == "ready yes")
        try await rig.one.client.publish("/post/27", title: "old", options: PublishOptions(window: .zero))
        let said = try #require(await listener.lines(of: 1).next(within: .seconds(30)))
        let parts = said.split(separator: " ", maxSplits: 1).map(String.init)
        try await rig.broker.publish(parts[1], to: parts[0], "-r")
        try await rig.two.bridge.start()
        try await rig.two.until("the message is noticed") {
            try await rig.two.bridge.property("Detail")?.string?.contains("1 message passed over as forged or moved")
                ?? false
        }
        try await rig.two.until("the other is online") { try await rig.two.isOnline("desk") }
        try await rig.one.client.publish("/post/27", title: "new", options: PublishOptions(banner: false))
        try await rig.two.hears("new")
        #expect(try await rig.two.titles() == ["new"])
        let findings = try await rig.two.notifyctl("doctor").output
        #expect(findings.contains { $0.contains("1 message passed over") }, "\(findings)")
    }

    @Test func whatAStrangerSendsDoesNothing() async throws {
        var settings = TestBroker.Settings()
        settings.hasPort = true
        try await withLink(broker: settings) { rig in
            var names: [String] = []
            for device in rig.devices { names.append(try await device.client.device()) }
            let stranger = try ChildProcess(
                "/usr/bin/python3", [Self.script, "\(rig.broker.port)", "mina"] + names,
                environment: ["PATH": "/usr/bin:/bin"], capturing: [1, 2])
            defer { stranger.signal(SIGKILL) }
            let output = stranger.lines(of: 1)
            #expect(await output.next(within: .seconds(30)) == "listens", "\(stranger.lines(of: 2).all)")

            let id = try await rig.one.client.publish("/post/27", title: "one", options: PublishOptions(window: .zero))
            try await rig.two.hears("one")
            _ = try await rig.one.client.claim(id)
            let end = await output.next(within: .seconds(90))
            #expect(end?.hasPrefix("done ") == true, "\(stranger.lines(of: 2).all.suffix(5))")

            let silent = PublishOptions(banner: false)
            try await rig.one.client.publish("/post/27", title: "two", options: silent)
            try await rig.two.hears("two")
            try await rig.two.client.publish("/post/27", title: "three", options: silent)
            try await rig.one.hears("three")
            for device in rig.devices {
                #expect(try await device.titles() == ["one", "two", "three"], "\(device.name)")
                #expect(device.server.banners.all.count <= 1, "\(device.name)")
                #expect(try await device.bridge.property("State")?.string == "connected", "\(device.name)")
                #expect(try await device.bridge.property("DeadLetters")?.integer() == 0, "\(device.name)")
                let told = device.bridge.log.split(separator: "\n").filter { $0.contains("cannot be opened") }
                #expect(told.count == 1, "\(device.bridge.log.prefix(2000))")
            }
        }
    }
}
