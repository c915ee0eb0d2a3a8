import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Current values between real devices.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ValueTests {
    private let rig: LinkRig! = Fixture.current()

    private func values(_ device: LinkedDevice) async throws -> [String: String] {
        let values = try await device.client.snapshot("/").values.map { ($0.event.topic, $0.event.title) }
        return Dictionary(values) { $1 }
    }

    private func agree(_ rig: LinkRig, on expected: [String: String]) async throws {
        for device in rig.devices {
            try await device.until("it has the values \(expected)") { try await values(device) == expected }
        }
    }

    @Test(.link) func valuesAreTheSameEverywhere() async throws {
        let retain = PublishOptions(retain: true, banner: false)
        try await rig.one.client.publish("/a/1", title: "one", options: retain)
        try await rig.two.client.publish("/a/2", title: "two", options: retain)
        try await agree(rig, on: ["/a/1": "one", "/a/2": "two"])
        try await rig.two.client.publish("/a/1", title: "three", options: retain)
        try await agree(rig, on: ["/a/1": "three", "/a/2": "two"])
        try await rig.one.client.publish("/a/2", options: PublishOptions(remove: true))
        try await agree(rig, on: ["/a/1": "three"])
    }

    @Test(.link) func valuesThatChangedDuringAnOutageEndTheSame() async throws {
        let retain = PublishOptions(retain: true, banner: false)
        try await rig.one.client.publish("/a/1", title: "one", options: retain)
        try await agree(rig, on: ["/a/1": "one"])
        await rig.broker.kill()
        try await rig.one.client.publish("/a/1", title: "earlier", options: retain)
        try await rig.one.client.publish("/a/2", title: "one", options: retain)
        try await rig.two.client.publish("/a/1", title: "later", options: retain)
        try await rig.broker.start()
        try await agree(rig, on: ["/a/1": "later", "/a/2": "one"])
    }

    /// The broker has what the device itself said after the backup was made.
    @Test(.link) func theValuesOfADeviceComeBackAfterItsBackup() async throws {
        let retain = PublishOptions(retain: true, banner: false)
        let files = FileManager.default
        let journal = rig.two.daemon.folder.path + "/state/notifyd/index.db"
        try await rig.two.client.publish("/a/1", title: "one", options: retain)
        try await rig.two.client.publish("/a/2", title: "one", options: retain)
        try await agree(rig, on: ["/a/1": "one", "/a/2": "one"])
        await rig.two.daemon.stop()
        try files.copyItem(atPath: journal, toPath: journal + ".copy")
        try await rig.two.daemon.start()
        try await rig.two.client.publish("/a/1", title: "two", options: retain)
        try await rig.two.client.publish("/a/2", options: PublishOptions(remove: true))
        try await agree(rig, on: ["/a/1": "two"])
        await rig.two.daemon.stop()
        for name in ["", "-wal"] { try? files.removeItem(atPath: journal + name) }
        try files.moveItem(atPath: journal + ".copy", toPath: journal)
        try await rig.two.daemon.start()
        try await agree(rig, on: ["/a/1": "two"])
    }

    /// More than mosquitto queues for one client.
    @Test(.link(isStarted: false)) func aNewDeviceGetsManyCurrentValues() async throws {
        try await rig.one.bridge.start()
        let retain = PublishOptions(retain: true, banner: false)
        let topics = (1...2500).map { "/a/\($0)" }
        for topic in topics { try await rig.one.client.publish(topic, title: topic, options: retain) }
        try await rig.one.until("Backlog", is: 0, within: .seconds(60))
        try await rig.two.bridge.start()
        let expected = Dictionary(topics.map { ($0, $0) }) { $1 }
        try await rig.two.until("it has all values", within: .seconds(60)) { try await values(rig.two) == expected }
    }
}
