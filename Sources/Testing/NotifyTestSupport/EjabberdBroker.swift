import Glibc
package import NotifyClient
import NotifyRehearsal

/// An ejabberd that speaks MQTT 5 and 3.1.1, and lets everybody in who has a password.
///
/// [mod_mqtt](https://docs.ejabberd.im/admin/configuration/modules/#mod-mqtt)
package final class EjabberdBroker: StartedProgram {
    /// Where it listens, on 127.0.0.1.
    package let port: UInt16
    private let folder: TemporaryFolder
    package let process = Locked<ChildProcess?>(nil)

    /// The root into which `.ci/packages test` has unpacked it and all that it needs; `nil` without it.
    private static let root: String? = {
        let root = Project.path(".build/unpacked/ejabberd/usr/lib")
        return access(root + "/erlang", F_OK) == 0 ? root : nil
    }()

    package static var isThere: Bool { root != nil }

    /// Why tests with it are skipped.
    package static let absence = "ejabberd is not unpacked: .ci/packages test"

    package init() throws {
        port = try freePort()
        folder = try TemporaryFolder()
        try folder.write(
            """
            hosts: [localhost]
            loglevel: warning
            listen:
              - port: \(port)
                ip: "127.0.0.1"
                module: mod_mqtt
                tls: false
            auth_method: [anonymous]
            anonymous_protocol: both
            allow_multiple_connections: true
            modules:
              mod_mqtt: {}

            """, to: "ejabberd.yml")
    }

    /// Starts it; it listens when this returns.
    package func start() async throws {
        guard let root = Self.root else { throw RehearsalError(Self.absence) }
        let erlang = root + "/erlang"
        // The version is part of the name.
        let find = try ChildProcess(
            "/bin/sh", ["-c", "ls -d \(erlang)/erts-*; ls -d \(root)/*-linux-gnu"],
            environment: ["PATH": "/usr/bin:/bin"],
            capturing: [1])
        guard let found = await find.allLines(of: 1), found.count >= 2 else { throw RehearsalError(Self.absence) }
        let (runtime, libraries) = (found[0], found[1])
        let child = try ChildProcess(
            "\(runtime)/bin/erlexec",
            ["-noinput", "+S", "1:1", "-mnesia", "dir", "\"\(folder.path)/spool\"", "-s", "ejabberd"],
            environment: [
                "HOME": folder.path, "PATH": "/usr/bin:/bin", "ROOTDIR": erlang, "BINDIR": runtime + "/bin",
                "EMU": "beam",
                "PROGNAME": "erl", "LD_LIBRARY_PATH": libraries, "ERL_LIBS": libraries,
                "EJABBERD_CONFIG_PATH": folder.path + "/ejabberd.yml",
                "EJABBERD_LOG_PATH": folder.path + "/ejabberd.log",
            ], capturing: [1, 2], removing: folder.path)
        process.withLock { $0 = child }
        let deadline = ContinuousClock.now + .seconds(60) * Timeouts.factor
        // Its log does not say when it listens.
        while !isListening(on: port) {
            guard ContinuousClock.now < deadline, child.exit == nil else {
                child.signal(SIGKILL)
                throw RehearsalError("ejabberd did not start: \(child.lines(of: 1).all.suffix(5))")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    package func remove() async {
        await kill()
        folder.remove()
    }
}

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
