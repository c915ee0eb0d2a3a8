import ArgumentParser
import ChildProcesses
import Glibc
import NotifyClient

/// Runs the same command for every user with a session bus, each in a process of its own, which becomes that user.
struct AllUsers {
    /// The command line without `--all-users`.
    let arguments: [String]
    /// What each process reads from standard input.
    let input: String?
    let isJSON: Bool
    /// How long one process may take.
    let patience: Duration

    /// - Throws: the exit code of the first process that failed; the others run all the same.
    func run() async throws {
        try UserSession.requireRoot(for: "--all-users")
        let users = UserSession.all()
        guard !users.isEmpty else {
            throw UserSession.noBus("Nobody has a session bus: there is no /run/user/UID/bus.")
        }
        let processes = users.map { user in (user, Result { () throws(ProcessError) in try start(as: user) }) }
        var failure: ExitCode?
        for (user, process) in processes {
            let name = (try? UserSession("\(user)"))?.name ?? "\(user)"
            do throws(ProcessError) {
                let code = try await report(try process.get(), of: name)
                if code != 0 { failure = failure ?? ExitCode(code) }
            } catch {
                Terminal.complain("\(name): \(error.description)")
                failure = failure ?? .notReachable
            }
        }
        if let failure { throw failure }
    }

    private func start(as user: uid_t) throws(ProcessError) -> ChildProcess {
        let end = try input.map { text throws(ProcessError) in try Self.socket(with: text) }
        defer { if let end { close(end) } }
        return try ChildProcess(
            Daemon.ownPath ?? "notifyctl", ["send", "--user", "\(user)"] + arguments,
            environment: ChildProcess.currentEnvironment,
            capturing: [STDOUT_FILENO, STDERR_FILENO], input: end)
    }

    /// - Returns: the exit code.
    private func report(_ process: ChildProcess, of name: String) async throws(ProcessError) -> CInt {
        let exit = await process.waitForExit(within: patience)
        if exit == nil { await process.end() }
        for line in await process.allLines(of: STDOUT_FILENO) ?? [] {
            Terminal.print(isJSON ? line : "\(name): \(line)")
        }
        for line in await process.allLines(of: STDERR_FILENO) ?? [] {
            Terminal.complain("\(name): \(line.trimmingPrefix("notifyctl: "))")
        }
        switch exit {
        case .code(let code)?: return code
        case .signal(let number)?: throw ProcessError("notifyctl was ended by signal \(number).")
        case nil: throw ProcessError("notifyctl did not end within \(patience.shortText).")
        }
    }

    /// A socket that holds a text. A body fits into its buffer.
    private static func socket(with text: String) throws(ProcessError) -> CInt {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw ProcessError("No socket can be created: \(String(cString: strerror(errno))).")
        }
        defer { close(ends[1]) }
        let bytes = Array(text.utf8)
        guard send(ends[1], bytes, bytes.count, CInt(MSG_DONTWAIT)) == bytes.count else {
            close(ends[0])
            throw ProcessError("The body does not fit into the buffer of a socket.")
        }
        return ends[0]
    }
}
