package import Glibc
package import NotifyClient

/// A program that was started, and can be started again with the same state after it was stopped or killed.
package protocol StartedProgram: Sendable {
    /// The process that was started last.
    var process: Locked<ChildProcess?> { get }
}

extension StartedProgram {
    private var child: ChildProcess? { process.withLock { $0 } }

    package var identifier: pid_t? { child?.identifier }

    /// The lines that it wrote to its standard error since its last start.
    package var errors: Mailbox<String> { child?.lines(of: 2) ?? Mailbox() }

    package var log: String { errors.all.joined(separator: "\n") }

    /// How it ended, or `nil` while it runs.
    package var exit: ChildProcess.Exit? { child?.exit }

    /// Sends a signal, such as SIGSTOP and SIGCONT for a program that hangs.
    package func signal(_ number: CInt) { child?.signal(number) }

    package func waitForExit(within limit: Duration = .seconds(10)) async -> ChildProcess.Exit? {
        await child?.waitForExit(within: limit)
    }

    /// Sends SIGTERM, and SIGKILL if it does not end soon.
    @discardableResult
    package func stop() async -> ChildProcess.Exit? { await child?.end() }

    /// Ends it with SIGKILL.
    package func kill() async {
        signal(SIGKILL)
        _ = await waitForExit()
    }
}

/// How a program has ended, and what it has written.
package struct CommandResult: Sendable {
    /// `nil` when it did not end in time.
    package let exit: ChildProcess.Exit?
    package let output: [String]
    package let errors: [String]

    /// Its exit code; `nil` when it has none.
    package var code: CInt? { if case .code(let code)? = exit { code } else { nil } }
}

extension ChildProcess {
    /// Waits until it has ended, and kills it when it does not end in time.
    package func result(within limit: Duration = .seconds(10)) async -> CommandResult {
        let exit = await waitForExit(within: limit)
        if exit == nil { signal(SIGKILL) }
        return CommandResult(exit: exit, output: await allLines(of: 1) ?? [], errors: await allLines(of: 2) ?? [])
    }

    /// Runs a program to its end.
    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = ["PATH": "/usr/bin:/bin"],
        within limit: Duration = .seconds(10)
    ) async throws(ProcessError) -> CommandResult {
        try await ChildProcess(program, arguments, environment: environment, capturing: [1, 2]).result(within: limit)
    }

    /// `PATH` of this process.
    package static var path: String { currentEnvironment["PATH"] ?? "/usr/bin:/bin" }

    /// The environment of a program on a bus that has its files in a folder, and knows nothing of whoever runs this.
    package static func environment(
        in folder: TemporaryFolder, on address: String, _ more: [String: String] = [:]
    ) -> [String: String] {
        [
            "PATH": path, "HOME": folder.path, "DBUS_SESSION_BUS_ADDRESS": address,
            "XDG_CONFIG_HOME": folder.path + "/config", "XDG_STATE_HOME": folder.path + "/state",
        ].merging(sanitizerEnvironment) { $1 }.merging(more) { $1 }
    }

    /// The environment variables that sanitizers and ``Timeouts`` read. Programs built without a sanitizer ignore them.
    package static var sanitizerEnvironment: [String: String] {
        currentEnvironment.filter {
            ["ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "NOTIFYD_TIMEOUT_FACTOR"].contains($0.key)
        }
    }
}

/// Runs `body`, and `cleanUp` after it whatever happens.
package func finally<Result>(
    isolation: isolated (any Actor)? = #isolation, _ cleanUp: () async -> Void,
    after body: () async throws -> Result
) async throws -> Result {
    let result: Swift.Result<Result, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    await cleanUp()
    return try result.get()
}

/// The address of a socket in the file system, as bind(2) and connect(2) take it.
package func withSocketAddress<Result>(of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result)
    -> Result
{
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
}

/// A socket in the file system that takes connections.
package func listeningSocket(at path: String) throws(RehearsalError) -> CInt {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard withSocketAddress(of: path, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 8) == 0 else {
        close(descriptor)
        throw RehearsalError("No socket can listen at \(path): \(String(cString: strerror(errno))).")
    }
    return descriptor
}
