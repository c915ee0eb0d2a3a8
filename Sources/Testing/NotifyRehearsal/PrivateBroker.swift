import Glibc
package import NotifyClient

/// A private MQTT broker: a mosquitto with its files in a temporary folder. After a kill it can be started again with
/// the same files.
package final class PrivateBroker: StartedProgram {
    /// Files with a certificate and its key.
    package struct Certificate: Sendable {
        package let chain: String
        package let key: String

        package init(chain: String, key: String) {
            self.chain = chain
            self.key = key
        }
    }

    /// What it is started with.
    package struct Settings: Sendable {
        /// Users and their passwords; without any, everybody is let in.
        package var users: [String: String] = [:]
        /// Lines of an access list.
        package var accessList: [String] = []
        /// Whether it keeps sessions and retained messages on disk, at every change.
        package var isPersistent = false
        /// The certificate with which it listens; `nil`: it listens on a Unix socket, without TLS.
        package var certificate: Certificate?
        /// Whether it listens on TCP too, without TLS.
        package var hasPort = false
        /// Further lines of its configuration.
        package var lines: [String] = []

        package init() {}
    }

    package let folder: TemporaryFolder
    /// Where it listens without TLS.
    package let socket: String
    /// Where it listens on 127.0.0.1; 0 if it does not.
    package let port: UInt16
    private let program: String
    private let settings: Settings
    package let process = Locked<ChildProcess?>(nil)

    package init(_ settings: Settings = Settings()) throws(RehearsalError) {
        program = try Self.locate()
        self.settings = settings
        folder = try TemporaryFolder()
        socket = folder.path + "/broker"
        port = settings.certificate == nil && !settings.hasPort ? 0 : try freePort()
    }

    /// Where programs are. On Debian mosquitto is in no user's `$PATH`.
    package static var folders: [String] {
        let path = ChildProcess.currentEnvironment["PATH"]?.split(separator: ":").map(String.init) ?? []
        return path + ["/usr/sbin", "/usr/local/sbin", "/usr/bin"]
    }

    /// The path of mosquitto.
    package static func locate(in folders: [String] = folders) throws(RehearsalError) -> String {
        guard let found = folders.map({ $0 + "/mosquitto" }).first(where: { access($0, X_OK) == 0 }) else {
            throw RehearsalError(
                "There is no MQTT broker here: install mosquitto, on Debian with \"apt install mosquitto\".")
        }
        return found
    }

    /// Starts it; it listens when this returns.
    package func start() async throws {
        unlink(socket)
        var lines = [
            "user root", "log_dest stderr", "log_type information", "log_type error", "log_type warning",
            "log_type notice", "allow_anonymous \(settings.users.isEmpty)", "connection_messages false",
        ]
        if !settings.users.isEmpty {
            let passwords = folder.path + "/passwords"
            try folder.write("", to: "passwords")
            for (user, password) in settings.users {
                try await runToEnd("/usr/bin/mosquitto_passwd", ["-b", passwords, user, password])
            }
            lines.append("password_file \(passwords)")
        }
        if !settings.accessList.isEmpty {
            try folder.write(settings.accessList.joined(separator: "\n") + "\n", to: "access")
            lines.append("acl_file \(folder.path)/access")
        }
        if settings.isPersistent {
            lines += [
                "persistence true", "persistence_location \(folder.path)/", "autosave_on_changes true",
                "autosave_interval 1",
            ]
        }
        if let certificate = settings.certificate {
            lines += ["listener \(port) 127.0.0.1", "certfile \(certificate.chain)", "keyfile \(certificate.key)"]
        } else {
            lines.append("listener 0 \(socket)")
            if settings.hasPort { lines.append("listener \(port) 127.0.0.1") }
        }
        lines += settings.lines
        let configuration = try folder.write(lines.joined(separator: "\n") + "\n", to: "mosquitto.conf")
        let child = try ChildProcess(
            program, ["-c", configuration], environment: ["PATH": "/usr/bin:/bin"], capturing: [2],
            removing: folder.path)
        process.withLock { $0 = child }
        let isReady = await child.lines(of: 2).next(within: .seconds(10)) { $0.contains(" running") }
        guard isReady != nil else {
            child.signal(SIGKILL)
            throw RehearsalError("mosquitto did not start: \(child.lines(of: 2).all.joined(separator: " "))")
        }
    }
}

/// Runs `body` with a broker and kills it afterwards.
package func withBroker<Result>(
    _ settings: PrivateBroker.Settings = PrivateBroker.Settings(), isolation: isolated (any Actor)? = #isolation,
    _ body: (PrivateBroker) async throws -> Result
) async throws -> Result {
    let broker = try PrivateBroker(settings)
    try await broker.start()
    return try await finally {
        await broker.kill()
        broker.folder.remove()
    } after: {
        try await body(broker)
    }
}

/// Runs a program to its end, and throws what it says if it fails.
package func runToEnd(_ program: String, _ arguments: [String]) async throws {
    let result = try await ChildProcess.run(program, arguments, within: .seconds(20))
    guard result.exit == .code(0) else {
        throw RehearsalError("\(program) failed: \(result.errors.joined(separator: " "))")
    }
}

/// A port of 127.0.0.1 on which nobody listens.
package func freePort() throws(RehearsalError) -> UInt16 {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
        }
    }
    guard isBound else { throw RehearsalError("No port is free.") }
    return UInt16(bigEndian: address.sin_port)
}
