import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A channel between the devices of two people.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ChannelTests {
    private let rig: LinkRig! = Fixture.current()
    private static let silent = PublishOptions(banner: false)

    @Test(.channel) func eventsOfItsTopicsAreShared() async throws {
        try await rig.one.client.publish("/post/1", title: "private", options: Self.silent)
        try await rig.one.client.publish(
            "/run/r1", title: "one", options: PublishOptions(source: "app", eventID: "7", banner: false))
        try await rig.one.client.publish("/run/r1", title: "two", options: Self.silent)
        try await rig.two.hears("two")
        #expect(try await rig.two.titles() == ["one", "two"])
        let device = try await rig.one.client.device()
        let changes = try await rig.two.client.journalChanges().changes.filter { $0.kind == "event" }
        #expect(
            changes.map { $0.details["source"]?.string } == ["channel:run:\(device):app", "notifyd:\(device)"])
        #expect(changes.allSatisfy { $0.details["via"]?.string == "mqtt:run" })
    }

    @Test(.channel) func whatCameByAChannelGoesNoFurther() async throws {
        try await rig.one.client.publish("/run/r1", title: "one", options: Self.silent)
        try await rig.two.hears("one")
        try await rig.two.client.publish("/run/r1", title: "two", options: Self.silent)
        try await rig.one.hears("two")
        for device in rig.devices { #expect(try await device.titles() == ["one", "two"]) }
    }

    @Test(.channel, arguments: [[], ["--silent"]]) func aMemberThatLeavesAndComesBackIsHeard(_ options: [String])
        async throws
    {
        try await rig.one.client.publish("/run/r1", title: "one", options: Self.silent)
        try await rig.two.hears("one")
        let folder = rig.one.bridge.folder.path + "/config/notifyd"
        let left = try await rig.one.notifyctl(["link", "leave", "--yes"] + options)
        #expect(left.code == 0, "\(left)")
        #expect(await rig.one.bridge.waitForExit(within: .seconds(30)) == .code(0))
        if options.isEmpty {
            try await rig.two.until("who has left is not listed") {
                try await rig.two.bridge.property("Peers")?.elements == []
            }
        }
        for name in ["link.key", "run.key"] { try rig.one.bridge.writeSecret(LinkRig.key, to: name) }
        try rig.one.bridge.configure(String(contentsOfFile: folder + "/mqtt.toml.old", encoding: .utf8))
        try await rig.one.bridge.start()
        try await rig.two.until("the other is back") { try await rig.two.isOnline("desk") }
        try await rig.one.client.publish("/run/r1", title: "two", options: Self.silent)
        try await rig.two.hears("two")
        #expect(try await rig.two.titles() == ["one", "two"])
    }

    @Test(.channel) func memberKeysSurviveARestart() async throws {
        try await rig.one.client.publish("/run/r1", title: "one", options: Self.silent)
        try await rig.two.hears("one")
        await rig.one.bridge.kill()
        try await rig.one.bridge.start()
        try await rig.one.client.publish("/run/r1", title: "two", options: Self.silent)
        try await rig.two.hears("two")
    }
}

/// Two devices of two people, with a channel and nothing else in common.
private func withChannel(_ body: (LinkRig) async throws -> Void) async throws {
    try await withLink(
        rest: "[[channel]]\nname = \"run\"\ntopics = [\"/run\"]\nkey = { file = \"run.key\" }", isStarted: false
    ) { rig in
        for (device, user) in zip(rig.devices, ["mina", "jan"]) {
            try device.bridge.writeSecret(LinkRig.key, to: "run.key")
            let text = LinkRig.configuration(
                rig.broker, device.name,
                rest: "[[channel]]\nname = \"run\"\ntopics = [\"/run\"]\nkey = { file = \"run.key\" }")
            try device.bridge.configure(text.replacing("\"mina\"", with: "\"\(user)\""))
        }
        try await rig.start()
        try await body(rig)
    }
}

extension Trait where Self == Fixture {
    fileprivate static var channel: Self { Fixture(withChannel) }
}
