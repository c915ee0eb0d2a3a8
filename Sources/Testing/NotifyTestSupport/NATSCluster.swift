import Glibc
import NotifyClient
import NotifyRehearsal

/// Three nodes of nats-server with JetStream, which speak MQTT 3.1.1.
///
/// [MQTT in NATS](https://docs.nats.io/running-a-nats-service/configuration/mqtt)
package final class NATSCluster: Sendable {
    /// Where each node speaks MQTT, on 127.0.0.1.
    package let ports: [UInt16]
    private let folder: TemporaryFolder
    private let program: String
    private let nodes = Locked<[ChildProcess?]>([nil, nil, nil])

    /// The nats-server that `.ci/packages test` has unpacked, or one that is installed; `nil` without one.
    package static let program: String? = {
        let folders = [Project.path(".build/unpacked/nats-server/usr/sbin")] + PrivateBroker.folders
        return folders.map { $0 + "/nats-server" }.first { access($0, X_OK) == 0 }
    }()

    /// Why tests with it are skipped.
    package static let absence = "nats-server is neither unpacked nor installed: .ci/packages test"

    package init() throws {
        guard let program = Self.program else { throw RehearsalError(Self.absence) }
        self.program = program
        folder = try TemporaryFolder(onDisk: true)
        let routes = try (0..<3).map { _ in try freePort() }
        ports = try (0..<3).map { _ in try freePort() }
        let peers = routes.map { "nats-route://127.0.0.1:\($0)" }.joined(separator: ", ")
        for node in 0..<3 {
            try folder.write(
                """
                server_name: node\(node)
                listen: "127.0.0.1:\(try freePort())"
                jetstream { store_dir: "\(folder.path)/node\(node)", max_memory_store: 64MB, max_file_store: 512MB }
                cluster { name: test, listen: "127.0.0.1:\(routes[node])", routes: [\(peers)] }
                mqtt { listen: "127.0.0.1:\(ports[node])" }

                """, to: "node\(node).conf")
        }
    }

    /// Starts all nodes, and returns when they have agreed on a leader.
    package func start() async throws {
        for node in 0..<3 { try start(node) }
        for node in 0..<3 {
            let log = nodes.withLock { $0[node] }?.lines(of: 2)
            guard
                await log?.next(within: .seconds(60), where: { $0.contains("metadata leader") })
                    != nil
            else { throw RehearsalError("Node \(node) of nats-server found no leader: \(log?.all.suffix(5) ?? [])") }
        }
    }

    package func start(_ node: Int) throws {
        let child = try ChildProcess(
            program, ["-c", "\(folder.path)/node\(node).conf"], environment: ["PATH": "/usr/bin:/bin"], capturing: [2])
        nodes.withLock { $0[node] = child }
    }

    /// Ends a node with SIGKILL.
    package func kill(_ node: Int) async {
        let child = nodes.withLock { $0[node] }
        child?.signal(SIGKILL)
        _ = await child?.waitForExit()
    }

    package func stop() async {
        for node in 0..<3 { await kill(node) }
        folder.remove()
    }
}
