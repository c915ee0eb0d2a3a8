import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import NotifyText
import Testing

/// A bus with a real notifyd, the bridge, and a distributor that behaves as KUnifiedPush does; the bus starts both of
/// the latter.
final class PushStage: Sendable {
    static let connector = "org.notifyd.UnifiedPush"
    static let bridge = "org.notifyd.Bridge.unifiedpush"
    static let distributor = "org.unifiedpush.Distributor.Test"
    static let other = "org.unifiedpush.Distributor.Other"

    let folder: TemporaryFolder
    let bus: PrivateBus
    let daemon: DaemonProcess
    let client: NotifyClient
    let connection: Connection

    init(distributors: [String] = [distributor]) async throws {
        folder = try TemporaryFolder()
        try Self.writeScript("bridge", BuiltPrograms.notifydUnifiedPush, "", folder)
        try Self.writeService(Self.connector, "bridge", folder)
        for name in distributors { try Self.writeDistributor(name, folder) }
        bus = try await PrivateBus(serviceFolder: folder.path + "/services")
        daemon = try await DaemonProcess.start(
            BuiltPrograms.notifyd, on: bus, configuration: Rig.configuration)
        client = try await NotifyClient(address: bus.address)
        connection = try await Connection.open(bus.address)
    }

    func end() async {
        await kill(Self.bridge)
        for name in ["Test", "Other"] { await kill("org.unifiedpush.Distributor." + name) }
        connection.close()
        await client.close()
        await daemon.stop()
        daemon.folder.remove()
        await bus.remove()
        folder.remove()
    }

    private static func writeService(_ name: String, _ script: String, _ folder: TemporaryFolder) throws {
        try folder.write(
            "[D-BUS Service]\nName=\(name)\nExec=/bin/sh \(folder.path)/\(script).sh\n", to: "services/\(name).service")
    }

    private static func writeDistributor(_ name: String, _ folder: TemporaryFolder) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "distributor.py").path
        try writeScript(name, "/usr/bin/python3 \(script) \(name) \(folder.path)/\(name).json", "", folder)
        try writeService(name, name, folder)
    }

    private static func writeScript(
        _ name: String, _ command: String, _ variables: String, _ folder: TemporaryFolder
    ) throws {
        let sanitizers = ChildProcess.sanitizerEnvironment.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
        try folder.write(
            """
            export HOME=\(folder.path) XDG_CONFIG_HOME=\(folder.path)/config XDG_STATE_HOME=\(folder.path)/state
            export PYTHONDONTWRITEBYTECODE=1 \(sanitizers) \(variables)
            exec \(command) 2>> \(folder.path)/\(name).log
            """, to: name + ".sh")
    }

    // MARK: The bridge

    func configure(_ text: String) throws { try folder.write(text, to: "config/notifyd/unifiedpush.toml") }

    func reconfigure(_ text: String) async throws {
        try configure(text)
        guard let process = try await connection.process(of: Self.bridge) else { throw RehearsalError("no bridge") }
        Glibc.kill(pid_t(process), SIGHUP)
    }

    /// From its next start on, it is killed at a step; an empty text ends that.
    func armBridge(_ failpoint: String) throws {
        let variables = failpoint.isEmpty ? "" : "NOTIFYD_FAILPOINT=\(failpoint)"
        try Self.writeScript("bridge", BuiltPrograms.notifydUnifiedPush, variables, folder)
    }

    /// From its next start on, the most memory that it has had is known when it has ended.
    func measureBridge() throws {
        let program = """
            import resource, subprocess, sys
            subprocess.run(sys.argv[2:])
            print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=open(sys.argv[1], "w"))
            """
        let path = try folder.write(program, to: "measure.py")
        try Self.writeScript(
            "bridge", "/usr/bin/python3 \(path) \(folder.path)/peak \(BuiltPrograms.notifydUnifiedPush)", "", folder)
    }

    /// In KiB; `nil` while it runs.
    var peakMemory: Int? {
        (try? String(contentsOfFile: folder.path + "/peak", encoding: .utf8)).flatMap {
            Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    /// Sets the longest file that the bridge may write: with 0 the disk is as good as full.
    func limitFiles(_ limit: String) async throws {
        let process = try await connection.process(of: Self.bridge) ?? 0
        try await runToEnd("/usr/bin/prlimit", ["--pid=\(process)", "--fsize=\(limit)"])
    }

    func problems() async -> [String] {
        (await property("Problems")?.elements ?? []).compactMap { $0.elements?.first?.string }
    }

    func start(_ name: String = connector) async throws {
        _ = try await connection.call(.toBus("StartServiceByName", [.string(name), .uint32(0)]))
    }

    var log: String { (try? String(contentsOfFile: folder.path + "/bridge.log", encoding: .utf8)) ?? "" }

    /// Kills the owner of a name, and returns when the name is free.
    func kill(_ name: String, _ signal: CInt = SIGKILL) async {
        guard let process = try? await connection.process(of: name) else { return }
        Glibc.kill(pid_t(process), signal)
        _ = try? await eventually("\(name) is free") { try await connection.owner(of: name) == nil ? true : nil }
    }

    func property(_ property: String) async -> Value? {
        let reply = try? await connection.call(
            .call(
                "Get", of: "org.freedesktop.DBus.Properties", at: "/org/notifyd/Bridge1", on: Self.bridge,
                autoStart: false, ["org.notifyd.Bridge1", .string(property)]))
        guard case .variant(let value)? = reply?.arguments.first else { return nil }
        return value
    }

    func waitFor(_ state: String, _ part: String = "") async throws {
        try await eventually("the bridge is \(state) (\(part)); it said: \(log)") { () -> Bool? in
            guard await property("State")?.string == state, let detail = await property("Detail")?.string else {
                return nil
            }
            return part.isEmpty || detail.contains(part) ? true : nil
        }
    }

    // MARK: notifyctl

    func notifyctl(_ arguments: String...) async throws -> CommandResult {
        try await ChildProcess.run(
            BuiltPrograms.notifyctl, arguments, environment: ChildProcess.environment(in: folder, on: bus.address),
            within: .seconds(60))
    }

    /// Makes an endpoint, and returns what the command prints.
    func create(_ name: String, _ topic: String, vapid: String = "own") async throws -> Subscription {
        let result = try await notifyctl(
            "push-endpoint", "create", name, "--topic", topic, "--vapid", vapid, "--json=short")
        guard result.code == 0, let line = result.output.first else {
            throw RehearsalError("No endpoint was made: \(result.errors.joined(separator: " "))")
        }
        return Subscription(json: try JSONParser.parse(Array(line.utf8)))
    }

    // MARK: The distributor

    @discardableResult
    func ask(
        _ member: String, _ arguments: [Value] = [], of distributor: String = distributor
    ) async throws -> String {
        try await connection.call(
            .call(
                member, of: "org.notifyd.Test.Distributor", at: "/org/unifiedpush/Distributor", on: distributor,
                arguments)
        ).arguments.first?.string ?? ""
    }

    @discardableResult
    func send(_ text: String, to subscription: Subscription) async throws -> String {
        try await ask(
            "Send", [subscription.endpoint, subscription.publicKey, subscription.auth, text].map(Value.string))
    }

    func distributorState(_ name: String = distributor) async throws -> JSON {
        try JSONParser.parse(Array(try await ask("State", of: name).utf8))
    }

    func waitForClients(_ count: Int, of name: String) async throws {
        try await eventually("\(count) endpoints are registered with \(name); the bridge said: \(log)") {
            try await distributorState(name)["clients"]?.members?.count == count ? true : nil
        }
    }

    /// Ends a distributor, and leaves nothing of it that the bus could start.
    func uninstall(_ name: String) async throws {
        try FileManager.default.removeItem(atPath: "\(folder.path)/services/\(name).service")
        _ = try await connection.call(.toBus("ReloadConfig"))
        await kill(name, SIGTERM)
    }

    func install(_ name: String) async throws {
        try Self.writeDistributor(name, folder)
        _ = try await connection.call(.toBus("ReloadConfig"))
    }

    /// Until the push server has nothing more that was not acknowledged.
    ///
    /// - Parameter reconnecting: whether the distributor delivers again what it could not deliver. It learns only some
    ///   time later that a delivery has failed.
    func waitForAcknowledgements(_ count: Int, reconnecting: Bool = false) async throws {
        try await eventually("\(count) messages are acknowledged; the bridge said: \(log)") {
            if reconnecting { try await ask("Reconnect") }
            let state = try await distributorState()
            let counts: (Int?, Int?) = (state["pending"]?.integer(), state["acknowledged"]?.integer())
            return counts.0 == 0 && counts.1 == count ? true : nil
        }
    }

    // MARK: notifyd

    func titles(_ topic: String = "/") async throws -> [String] { try await client.history(topic).map(\.event.title) }

    func waitFor(_ titles: [String]) async throws {
        try await eventually("\(titles) are published; the bridge said: \(log)") {
            try await self.titles().sorted() == titles.sorted() ? true : nil
        }
    }
}

/// What a sender needs.
struct Subscription: Sendable {
    let json: JSON

    var endpoint: String { json["endpoint"]?.string ?? "" }
    var publicKey: String { json["keys"]?["p256dh"]?.string ?? "" }
    var auth: String { json["keys"]?["auth"]?.string ?? "" }
}

func withPushStage(
    distributors: [String] = [PushStage.distributor], _ body: (PushStage) async throws -> Void
) async throws {
    let stage = try await PushStage(distributors: distributors)
    try await finally {
        await stage.end()
    } after: {
        try await body(stage)
    }
}

extension Trait where Self == Fixture {
    static var pushStage: Self { pushStage() }

    static func pushStage(distributors: [String] = [PushStage.distributor]) -> Self {
        Fixture { try await withPushStage(distributors: distributors, $0) }
    }
}
