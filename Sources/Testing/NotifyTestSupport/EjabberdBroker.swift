import Glibc
import NotifyClient
import NotifyRehearsal

/// An ejabberd that speaks MQTT 5 and 3.1.1, and lets everybody in who has a password.
///
/// [mod_mqtt](https://docs.ejabberd.im/admin/configuration/modules/#mod-mqtt)
package final class EjabberdBroker: Sendable {
    /// Where it listens, on 127.0.0.1.
    package let port: UInt16
    private let folder: TemporaryFolder
    private let process = Locked<ChildProcess?>(nil)

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

    /// Ends it with SIGKILL.
    package func kill() async {
        let child = process.withLock { $0 }
        child?.signal(SIGKILL)
        _ = await child?.waitForExit()
    }

    package func stop() async {
        await kill()
        folder.remove()
    }
}
