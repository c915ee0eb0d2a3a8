import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

extension LinkedDevice {
    /// Starts everything but the bridge.
    convenience init(_ name: String, configuration: String = Rig.configuration) async throws {
        try await self.init(
            name, Programs(daemon: BuiltPrograms.notifyd, bridge: BuiltPrograms.notifydMQTT),
            configuration: configuration)
    }

    /// Runs a command of notifyctl on the bus of the device, with the configuration of its bridge.
    func notifyctl(_ arguments: String...) async throws -> CommandResult { try await notifyctl(arguments) }

    func notifyctl(_ arguments: [String]) async throws -> CommandResult {
        try await ChildProcess.run(
            BuiltPrograms.notifyctl, arguments,
            environment: ChildProcess.environment(in: bridge.folder, on: bus.address, ["LC_ALL": "C.UTF-8"]),
            within: .seconds(60))
    }

    /// Memory of the bridge that is in no file, in KiB.
    func bridgeMemory() throws -> Int {
        try ProcessStatistics(identifier: bridge.identifier ?? 0).kibibytes("RssAnon")
    }

    /// Polls a condition that no signal announces.
    func until(
        _ fact: String, within limit: Duration = .seconds(15), _ isTrue: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit * Timeouts.factor
        while try await !isTrue() {
            guard ContinuousClock.now < deadline else {
                let state = try await bridge.property("State")?.string ?? "gone"
                let detail = try await bridge.property("Detail")?.string ?? ""
                throw RehearsalError(
                    "It did not come true on \(name) that \(fact). The bridge is \(state) "
                        + "(\(detail)); its log: \(bridge.log)"
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Returns when the bridge is in this state, as notifyd-mqtt(8) has it.
    func until(state: String, within limit: Duration = .seconds(15)) async throws {
        try await until("the bridge is \(state)", within: limit) {
            try await bridge.property("State")?.string == state
        }
    }

    /// Returns when the bridge knows that the broker is away.
    func untilBrokerIsMissed() async throws {
        try await until("the broker is missed") { try await bridge.property("State")?.string != "connected" }
    }

    /// Returns when a property of the bridge, such as `Backlog`, is this number.
    func until(_ property: String, is number: Int, within limit: Duration = .seconds(15)) async throws {
        try await until("\(property) is \(number)", within: limit) {
            try await bridge.property(property)?.integer() == number
        }
    }

    /// Sets the longest file that the bridge may write: with 0 the disk is as good as full.
    func limitFiles(_ limit: String) async throws {
        try await runToEnd("/usr/bin/prlimit", ["--pid=\(bridge.identifier ?? 0)", "--fsize=\(limit)"])
    }

    /// The titles of all events below a topic, in the order in which they came.
    func titles(_ topic: String = "/") async throws -> [String] {
        var titles: [String] = []
        var last: EventID = 0
        while true {
            let page = try await client.history(topic, after: last)
            guard let end = page.last else { return titles }
            titles += page.map(\.event.title)
            last = end.event.id
        }
    }

    /// Returns when it has heard all of them; none may be there twice.
    func hearsOnce(_ titles: [String], within limit: Duration = .seconds(60)) async throws {
        try await until("everything is there", within: limit) { try await Set(self.titles()) == Set(titles) }
        #expect(try await self.titles().count == titles.count)
    }

    func hears(_ title: String, within limit: Duration = .seconds(60)) async throws {
        try await until("\"\(title)\" is heard", within: limit) { try await titles().contains(title) }
    }

    /// The event with a title.
    func event(_ title: String) async throws -> RecordedEvent {
        try await hears(title)
        return try await client.history("/").first { $0.event.title == title }!
    }

    func isOnline(_ other: String) async throws -> Bool { try await bridge.peersOnline().contains(other) }

    /// Returns when a device, by its id, is online.
    func sees(device: String) async throws {
        try await until("device \(device) is online") {
            try await bridge.property("Peers")?.elements?.contains { peer in
                peer.entries?["device"]?.string == device && peer.entries?["online"]?.boolean == true
            } ?? false
        }
    }
}

extension TestBroker {
    /// Publishes as any program does.
    ///
    /// - Parameter options: of mosquitto_pub(1).
    func publish(_ text: String, to topic: String, _ options: String...) async throws {
        let file = try folder.write(text, to: "message")
        try await runToEnd(
            "/usr/bin/mosquitto_pub", ["--unix", socket, "-q", "1", "-t", topic, "-f", file] + options)
    }
}

/// A broker and some devices that are linked.
struct LinkRig: Sendable {
    let broker: TestBroker
    let devices: [LinkedDevice]

    var one: LinkedDevice { devices[0] }
    var two: LinkedDevice { devices[1] }

    /// The name of the bridge on the bus.
    static let bridge = "org.notifyd.Bridge.mqtt"
    /// A key of a test: 32 bytes in Base64.
    static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    static func configuration(
        _ broker: TestBroker, _ name: String, isSealed: Bool = true, link: String = "", rest: String = ""
    ) -> String {
        configuration(at: "unix:\(broker.socket)", name, isSealed: isSealed, link: link, rest: rest)
    }

    static func configuration(
        at server: String, _ name: String, isSealed: Bool = true, link: String = "", rest: String = ""
    ) -> String {
        """
        [link]
        server = "\(server)"
        user = "mina"
        name = "\(name)"
        \(isSealed ? "key = { file = \"link.key\" }" : "")
        \(link)
        \(rest)
        """
    }

    /// Starts the bridges one after the other, and returns when each sees all others.
    func start() async throws { try await devices.startBridges() }
}

/// Runs `body` with a broker and devices, whose bridges run, and removes all of it afterwards.
func withLink(
    _ count: Int = 2, broker settings: TestBroker.Settings = TestBroker.Settings(), isSealed: Bool = true,
    link: String = "", rest: String = "", isStarted: Bool = true,
    daemon: String = Rig.configuration, _ body: (LinkRig) async throws -> Void
) async throws {
    try await withBroker(settings) { broker in
        var devices: [LinkedDevice] = []
        for number in 0..<count {
            let device = try await LinkedDevice(["desk", "laptop", "phone"][number], configuration: daemon)
            devices.append(device)
            try device.bridge.writeSecret(LinkRig.key + "\n", to: "link.key")
            try device.bridge.configure(
                LinkRig.configuration(broker, device.name, isSealed: isSealed, link: link, rest: rest))
        }
        let rig = LinkRig(broker: broker, devices: devices)
        try await finally {
            await devices.end()
        } after: {
            if isStarted { try await rig.start() }
            try await body(rig)
        }
    }
}

extension Trait where Self == Fixture {
    /// A broker and devices, whose bridges run; the parameters are those of `withLink`.
    static var link: Self { link() }

    static func link(
        _ count: Int = 2, isSealed: Bool = true, link: String = "", rest: String = "", isStarted: Bool = true
    ) -> Self {
        Fixture {
            try await withLink(count, isSealed: isSealed, link: link, rest: rest, isStarted: isStarted, $0)
        }
    }
}
