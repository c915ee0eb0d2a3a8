import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A device: a bus with a notifyd, a notification server and a notifyd-mqtt.
final class LinkDevice: Sendable {
    static let name = "org.notifyd.Bridge.mqtt"

    let label: String
    let bus: PrivateBus
    let daemon: DaemonProcess
    let server: NotificationServer
    let client: NotifyClient
    let folder: TemporaryFolder
    private let process = Locked<ChildProcess?>(nil)

    /// Starts everything but the bridge.
    init(_ label: String, configuration: String = "[banner]\nmax_per_second = 0\n") async throws {
        self.label = label
        bus = try await PrivateBus()
        server = try await NotificationServer.start(on: bus)
        daemon = try await DaemonProcess.start(BuiltPrograms.notifyd, on: bus, configuration: configuration)
        client = try await NotifyClient(address: bus.address)
        folder = try TemporaryFolder()
    }

    func end() async {
        await stopBridge()
        await client.close()
        server.stop()
        await daemon.stop()
        daemon.folder.remove()
        folder.remove()
        await bus.stop()
    }

    // MARK: The bridge

    /// Writes a secret that only the user can read.
    func writeSecret(_ text: String, to name: String) throws {
        let path = try folder.write(text, to: "config/notifyd/\(name)")
        guard chmod(path, 0o600) == 0 else { throw RehearsalError("\(path) cannot be made private.") }
    }

    func configure(_ text: String) throws { try folder.write(text, to: "config/notifyd/mqtt.toml") }

    /// Starts it without waiting for anything.
    @discardableResult
    func launchBridge(_ arguments: [String] = []) throws -> ChildProcess {
        var environment = [
            "PATH": ChildProcess.currentEnvironment["PATH"] ?? "/usr/bin:/bin",
            "HOME": folder.path,
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
            "XDG_CONFIG_HOME": folder.path + "/config",
            "XDG_STATE_HOME": folder.path + "/state",
        ]
        environment.merge(ChildProcess.sanitizerEnvironment) { $1 }
        let child = try ChildProcess(
            BuiltPrograms.notifydMQTT, arguments, environment: environment, capturing: [1, 2], removing: folder.path)
        process.withLock { $0 = child }
        return child
    }

    /// Starts it, and returns when it is connected.
    func startBridge() async throws {
        try launchBridge()
        try await until("it is connected") { try await property("State")?.string == "connected" }
    }

    func stopBridge() async { _ = await process.withLock { $0 }?.end() }

    func killBridge() async {
        let child = process.withLock { $0 }
        child?.signal(SIGKILL)
        _ = await child?.waitForExit()
    }

    /// Sets the longest file that the bridge may write: with 0 the disk is as good as full.
    func limitFiles(_ limit: String) async throws {
        guard let process = process.withLock({ $0?.identifier }) else { throw RehearsalError("no bridge") }
        let child = try ChildProcess(
            "/usr/bin/prlimit", ["--pid=\(process)", "--fsize=\(limit)"], environment: ["PATH": "/usr/bin:/bin"],
            capturing: [2])
        guard await child.waitForExit() == .code(0) else { throw RehearsalError("prlimit failed") }
    }

    func signalBridge(_ number: CInt) { process.withLock { $0 }?.signal(number) }

    /// Memory of the bridge that is in no file, in KiB; proc_pid_status(5).
    func bridgeMemory() throws -> Int {
        guard let number = process.withLock({ $0?.identifier }), let file = fopen("/proc/\(number)/status", "re") else {
            throw RehearsalError("The bridge does not run.")
        }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, CInt(line.count), file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                .split(whereSeparator: \.isWhitespace)
            if words.first == "RssAnon:", words.count > 1, let memory = Int(words[1]) { return memory }
        }
        throw RehearsalError("The memory of the bridge is not known.")
    }

    /// How the bridge has ended.
    var bridgeExit: ChildProcess.Exit? {
        get async { await process.withLock { $0 }?.waitForExit(within: .seconds(30)) }
    }

    /// Runs a command of notifyctl on the bus of the device, with the configuration of its bridge.
    func notifyctl(_ arguments: String...) async throws -> (code: CInt?, output: [String], errors: [String]) {
        try await notifyctl(arguments)
    }

    func notifyctl(_ arguments: [String]) async throws -> (code: CInt?, output: [String], errors: [String]) {
        let environment = [
            "PATH": ChildProcess.currentEnvironment["PATH"] ?? "/usr/bin:/bin", "HOME": folder.path,
            "DBUS_SESSION_BUS_ADDRESS": bus.address, "XDG_CONFIG_HOME": folder.path + "/config", "LC_ALL": "C.UTF-8",
        ].merging(ChildProcess.sanitizerEnvironment) { $1 }
        let child = try ChildProcess(BuiltPrograms.notifyctl, arguments, environment: environment, capturing: [1, 2])
        guard case .code(let code)? = await child.waitForExit(within: .seconds(60)) else { return (nil, [], []) }
        return (code, await child.allLines(of: 1) ?? [], await child.allLines(of: 2) ?? [])
    }

    var bridgeLog: String { process.withLock { $0 }?.lines(of: 2).all.joined(separator: "\n") ?? "" }

    /// A property of `org.notifyd.Bridge1`; `nil` while it is not there.
    func property(_ name: String) async throws -> Value? {
        let connection = try await Connection.open(bus.address)
        defer { connection.close() }
        let reply = try? await connection.call(
            .call(
                "Get", of: "org.freedesktop.DBus.Properties", at: "/org/notifyd/Bridge1", on: Self.name,
                autoStart: false, ["org.notifyd.Bridge1", .string(name)]))
        guard let value = reply?.arguments.first else { return nil }
        if case .variant(let inner) = value { return inner }
        return value
    }

    // MARK: What is there

    /// Polls a condition that no signal announces.
    func until(
        _ fact: String, within limit: Duration = .seconds(15), _ isTrue: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit * Timeouts.factor
        while try await !isTrue() {
            guard ContinuousClock.now < deadline else {
                let state = try await property("State")?.string ?? "gone"
                let detail = try await property("Detail")?.string ?? ""
                throw RehearsalError(
                    "It did not come true on \(label) that \(fact). The bridge is \(state) "
                        + "(\(detail)); its log: \(bridgeLog)"
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
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

    func hears(_ title: String, within limit: Duration = .seconds(60)) async throws {
        try await until("\"\(title)\" is heard", within: limit) { try await titles().contains(title) }
    }

    /// The event with a title.
    func event(_ title: String) async throws -> RecordedEvent {
        try await hears(title)
        return try await client.history("/").first { $0.event.title == title }!
    }

    func isOnline(_ other: String) async throws -> Bool {
        let peers = try await property("Peers")?.elements ?? []
        return peers.contains { peer in
            peer.entries?["name"]?.string == other && peer.entries?["online"]?.boolean == true
        }
    }
}

/// A broker and some devices that are linked.
struct LinkRig: Sendable {
    let broker: TestBroker
    let devices: [LinkDevice]

    var one: LinkDevice { devices[0] }
    var two: LinkDevice { devices[1] }

    /// A key of a test: 32 bytes in Base64.
    static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    static func configuration(
        _ broker: TestBroker, _ label: String, isSealed: Bool = true, link: String = "", rest: String = ""
    ) -> String {
        """
        [link]
        server = "unix:\(broker.socket)"
        user = "mina"
        name = "\(label)"
        \(isSealed ? "key = { file = \"link.key\" }" : "")
        \(link)
        \(rest)
        """
    }

    /// Starts the bridges one after the other, and returns when each sees all others.
    func start() async throws {
        for device in devices { try await device.startBridge() }
        for device in devices {
            for other in devices where other.label != device.label {
                try await device.until("\(other.label) is online") { try await device.isOnline(other.label) }
            }
        }
    }
}

/// Runs `body` with a broker and devices, whose bridges run, and removes all of it afterwards.
func withLink(
    _ count: Int = 2, broker settings: TestBroker.Settings = TestBroker.Settings(), isSealed: Bool = true,
    link: String = "", rest: String = "", isStarted: Bool = true,
    daemon: String = "[banner]\nmax_per_second = 0\n",
    _ body: (LinkRig) async throws -> Void
) async throws {
    try await withBroker(settings) { broker in
        var devices: [LinkDevice] = []
        for number in 0..<count {
            let device = try await LinkDevice(["desk", "laptop", "phone"][number], configuration: daemon)
            devices.append(device)
            try device.writeSecret(LinkRig.key + "\n", to: "link.key")
            try device.configure(
                LinkRig.configuration(broker, device.label, isSealed: isSealed, link: link, rest: rest))
        }
        let rig = LinkRig(broker: broker, devices: devices)
        let result: Result<Void, any Error>
        do {
            if isStarted { try await rig.start() }
            result = .success(try await body(rig))
        } catch {
            result = .failure(error)
        }
        for device in devices { await device.end() }
        try result.get()
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
