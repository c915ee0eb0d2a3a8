import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A bus, a recording notification server and a daemon with its state on a real disk, which a test treats badly.
/// Everything the daemons say, one after the other, is heard over one connection that outlives them.
struct FaultRig: Sendable {
    static let patience: Duration = .seconds(20)

    let bus: PrivateBus
    let server: NotificationServer
    let daemon: DaemonProcess
    let connection: Connection
    let signals: Mailbox<Message>
    /// Where the daemon keeps its state; it makes the folder itself.
    let state: String

    /// An event as `History` lists it.
    struct Entry: Hashable {
        var id: UInt64
        var title: String
        var outcome: String
    }

    @discardableResult
    func call(
        _ member: String, _ arguments: [Value], timeout: Duration = .seconds(10)
    ) async throws(NotifyError) -> Message {
        try await connection.call(.toRouter(member, autoStart: false, arguments), timeout: timeout)
    }

    func send(_ topic: String, _ title: String = "news") async throws -> UInt64 {
        try await call("Send", [.string(topic), .string(title), ""]).arguments.first?.integer() ?? 0
    }

    func publish(_ topic: String, _ title: String = "news", _ options: [String: Value]) async throws -> UInt64 {
        let arguments: [Value] = [.string(topic), .string(title), "", .variants([:]), .variants(options)]
        return try await call("Publish", arguments).arguments.first?.integer() ?? 0
    }

    func claim(_ id: UInt64) async throws -> String {
        try await call("Claim", [.uint64(id)]).arguments.first?.string ?? ""
    }

    /// All events at or below a topic, in pages.
    func history(_ topic: String = "/") async throws -> [Entry] {
        var all: [Entry] = []
        while true {
            // Before a page comes whatever signals this connection has not read yet.
            let reply = try await call(
                "History", [.string(topic), .uint64(all.last?.id ?? 0), .uint32(1000)], timeout: .seconds(60))
            let page = (reply.arguments.first?.elements ?? []).compactMap { Entry($0) }
            if page.isEmpty { return all }
            all += page
        }
    }

    func outcome(of id: UInt64) async throws -> String? {
        try await call("Explain", [.uint64(id)]).arguments.first?.entries?["outcome"]?.string
    }

    func property(_ name: String) async throws -> Value? {
        let get = Message.call(
            "Get", of: "org.freedesktop.DBus.Properties", at: Router.path, on: Router.name, autoStart: false,
            [.string(Router.interface), .string(name)])
        return try await connection.call(get).arguments.first
    }

    /// Why the journal cannot be written, as the daemon says; empty while it can.
    func degradation() async throws -> String { try await property("Degraded")?.string ?? "" }

    func statistic(_ name: String) async throws -> UInt64 {
        try await property("Statistics")?.entries?[name]?.integer() ?? 0
    }

    func until(
        _ fact: String, within limit: Duration = patience, _ isTrue: () async throws -> Bool
    ) async throws {
        try await waitUntil(fact, within: limit, daemon, isTrue)
    }

    func untilSettled() async throws {
        try await until("nothing is undecided", within: .seconds(60)) { try await property("Pending")?.integer() == 0 }
    }

    /// The next signal of a kind about an event.
    func signal(_ member: String, about id: UInt64) async throws -> Message {
        let signal = await signals.next(within: Self.patience) {
            $0.member == member && $0.arguments.count > 1 && $0.arguments[1] == .uint64(id)
        }
        guard let signal else { throw RehearsalError("\(member) of \(id) did not come. The daemon: \(daemon.log)") }
        return signal
    }

    /// The event's next announcement, which has to be one of a recovery; how long claims are awaited.
    func replay(of id: UInt64) async throws -> Duration? {
        while true {
            let information = try await signal("Event", about: id).arguments.last?.entries ?? [:]
            guard information["replayed"]?.boolean == true else { continue }
            return .milliseconds(information["window"]?.integer(as: UInt32.self) ?? 0)
        }
    }

    /// Publishing is refused, as it has to be where nothing can be kept.
    func expectRefused() async throws {
        #expect(await refusal { try await send("/refused/1", "refused") }?.shortName == "StorageUnavailable")
    }

    /// How often a banner was asked for, in all runs.
    func banners(_ title: String) -> Int { server.banners.all.filter { $0.title == title }.count }
}

extension FaultRig.Entry {
    init?(_ value: Value) {
        guard let members = value.elements, members.count == 7, case .uint64(let id) = members[0] else { return nil }
        self.init(id: id, title: members[2].string ?? "", outcome: members[5].string ?? "")
    }
}

/// The short windows of most tests of faults.
let faultDefaults = """
    [defaults]
    window = "30ms"
    [banner]
    max_per_second = 0

    """

/// Runs `body` with a rig of its own, which is gone afterwards.
///
/// - Parameters:
///   - state: the state's home, where it is not to be a new folder on the disk.
///   - command: a program and its arguments, which is given the daemon's path and has to become the daemon.
///   - isStarted: whether the daemon runs already.
func withFaultRig(
    _ configuration: String = faultDefaults, state home: String? = nil, environment: [String: String] = [:],
    through command: [String] = [], isStarted: Bool = true, _ body: (FaultRig) async throws -> Void
) async throws {
    try await withPrivateBus { bus in
        let disk = try TemporaryFolder(onDisk: true)
        defer { disk.remove() }
        let home = home ?? disk.path
        let server = try await NotificationServer.start(on: bus)
        let daemon = try DaemonProcess(
            command.first ?? BuiltPrograms.notifyd, on: bus, configuration: configuration,
            arguments: command.isEmpty ? [] : command.dropFirst() + [BuiltPrograms.notifyd],
            environment: environment.merging(["XDG_STATE_HOME": home]) { $1 })
        let signals = Mailbox<Message>()
        let connection = try await Connection.open(bus.address, onSignal: { signals.put($0) })
        try await connection.addMatch(MatchRule(interface: Router.interface))
        let rig = FaultRig(
            bus: bus, server: server, daemon: daemon, connection: connection, signals: signals,
            state: home + "/notifyd")
        try await finally {
            connection.close()
            server.stop()
            await daemon.stop()
            daemon.folder.remove()
        } after: {
            if isStarted { try await daemon.start() }
            try await body(rig)
        }
    }
}

extension Trait where Self == Fixture {
    /// A bus with a daemon and its state on a disk; the parameters are those of `withFaultRig`.
    static var faultRig: Self { faultRig() }

    static func faultRig(
        _ configuration: String = faultDefaults, through command: [String] = [], isStarted: Bool = true
    ) -> Self {
        Fixture { try await withFaultRig(configuration, through: command, isStarted: isStarted, $0) }
    }
}

/// Runs a shell command with a path in `$0`.
func shell(_ script: String, _ path: String) async throws {
    let result = try await ChildProcess.run("sh", ["-c", script, path], environment: ["PATH": ChildProcess.path])
    #expect(result.code == 0, "\(script)")
}
