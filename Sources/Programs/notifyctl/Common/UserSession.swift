import ArgumentParser
import Glibc
import NotifyClient
import NotifyText
import UserFiles

/// The session of another user, for root.
///
/// The bus of a user takes no connections of other users: dbus-daemon hangs up on root as well. So this process becomes
/// the user before it connects.
struct UserSession {
    private static let sessions = "/run/user"

    let user: uid_t
    let group: gid_t
    let name: String
    let home: String

    private var runtime: String { "\(Self.sessions)/\(user)" }
    private var bus: String { "\(runtime)/bus" }

    /// - Parameter text: the name or the number of a user.
    init(_ text: String) throws(NotifyError) {
        guard let entry = uid_t(text).map({ getpwuid($0) }) ?? getpwnam(text) else {
            throw NotifyError(.invalidArgument, "There is no user “\(Terminal.plain(text))”.")
        }
        user = entry.pointee.pw_uid
        group = entry.pointee.pw_gid
        name = String(cString: entry.pointee.pw_name)
        home = String(cString: entry.pointee.pw_dir)
    }

    /// Every user with a bus, in the order of their numbers.
    static func all() -> [uid_t] {
        FileFacts.names(in: sessions).compactMap { uid_t($0) }
            .filter { BaseDirectories.flaw(ofBus: "\(sessions)/\($0)/bus", of: $0) == nil }.sorted()
    }

    /// - Throws: `refused` if this process is neither root's nor, if there is one, this user's.
    static func requireRoot(for option: String, or user: uid_t? = nil) throws(NotifyError) {
        guard geteuid() == 0 || geteuid() == user else {
            throw NotifyError(.refused, "Only root may use \(option): run notifyctl with sudo.")
        }
    }

    /// Gives up all rights of root for good, and makes this user's bus the session bus of this process.
    func enter() throws {
        try Self.requireRoot(for: "--user", or: user)
        if let flaw = BaseDirectories.flaw(ofBus: bus, of: user) {
            throw Self.noBus("\(name) has no session bus: \(flaw).")
        }
        let isRoot = geteuid() != user
        if isRoot { try becomeUser() }
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] { unsetenv(name) }
        let variables = [
            "HOME": home, "USER": name, "LOGNAME": name, "XDG_RUNTIME_DIR": runtime,
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(bus)",
        ]
        for (name, value) in variables { setenv(name, value, 1) }
        if isRoot { try restart() }
    }

    static func noBus(_ flaw: String) -> Complaint {
        Complaint(
            .notReachable,
            "\(flaw) It is there while the user is logged in, or lingers (loginctl enable-linger NAME). Another bus is "
                + "named by --address: sudo -u NAME notifyctl send --address unix:path=…")
    }

    private func becomeUser() throws(NotifyError) {
        // The groups first: afterwards there is no right to change them. As root, setuid(2) sets all user ids.
        guard initgroups(name, group) == 0, setgid(group) == 0, setuid(user) == 0 else {
            throw NotifyError(.refused, "notifyctl cannot become \(name): \(String(cString: strerror(errno))).")
        }
        precondition(seteuid(0) != 0, "the rights of root are given up for good")
    }

    /// Begins again as the user, so that nothing of root's is left in memory. The first thread has ended by now, and
    /// without this the process would still be root's by that thread.
    private func restart() throws(NotifyError) {
        var none = sigset_t()
        sigemptyset(&none)
        // Only the first thread does not block signals.
        pthread_sigmask(SIG_SETMASK, &none, nil)
        if let path = Daemon.ownPath { execv(path, CommandLine.unsafeArgv) }
        throw NotifyError(.refused, "notifyctl cannot be executed by \(name): \(String(cString: strerror(errno))).")
    }
}

/// Whose session to use.
struct SessionOptions: ParsableArguments {
    @Option(help: "As root: use the session bus of this user, given by name or number.") var user: String?

    /// Call it before anything else: what follows runs with the rights of that user.
    ///
    /// - Returns: the user, if one is named.
    @discardableResult
    func enter(_ bus: BusOptions) throws -> UserSession? {
        guard let user else { return nil }
        guard bus.address == nil else { throw ValidationError("Give either --user or --address, not both.") }
        let session = try UserSession(user)
        try session.enter()
        return session
    }
}

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
        let end = try input.map { text throws(ProcessError) in try ChildProcess.file(with: text) }
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
}
