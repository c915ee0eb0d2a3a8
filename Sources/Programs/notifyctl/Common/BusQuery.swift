import Glibc
import NotifyClient
import NotifyText
import UserFiles

/// An interface of a program on the bus.
struct Remote: Sendable {
    let name: String
    let path: String
    let interface: String

    static let router = Remote(name: Router.name, path: Router.path, interface: Router.interface)
    static let focus = Remote(name: "org.notifyd.Focus1", path: "/org/notifyd/Focus1", interface: "org.notifyd.Focus1")
    static let desktop = bridge("desktop", "org.notifyd.Desktop1")
    static let link = bridge("mqtt", "org.notifyd.Link1")
    static let ntfy = bridge("ntfy", "org.notifyd.Ntfy1")
    static let push = bridge("unifiedpush", "org.notifyd.Push1")
    static let manager = systemd("", "Manager")

    static func bridge(_ name: String, _ interface: String = "org.notifyd.Bridge1") -> Remote {
        Remote(name: BridgeInfo.prefix + name, path: "/org/notifyd/Bridge1", interface: interface)
    }

    fileprivate static func systemd(_ path: String, _ interface: String) -> Remote {
        let name = "org.freedesktop.systemd1"
        return Remote(
            name: name, path: path.isEmpty ? "/org/freedesktop/systemd1" : path, interface: "\(name).\(interface)")
    }
}

/// Calls services on a bus with a short timeout and without starting them.
struct BusQuery {
    static let timeout: Duration = .seconds(2)

    let connection: Connection

    /// - Parameter limit: how long the method may take.
    func ask(
        _ remote: Remote, _ member: String, _ arguments: [Value] = [], within limit: Duration = timeout
    ) async throws(NotifyError) -> [Value] {
        try await connection.call(
            .call(member, of: remote.interface, at: remote.path, on: remote.name, autoStart: false, arguments),
            timeout: limit
        ).arguments
    }

    /// The error with which notifyd answers if it is on the bus only to report a bad configuration.
    func badConfiguration() async -> NotifyError? {
        do throws(NotifyError) {
            _ = try await connection.call(.toProperties("GetAll"), timeout: Self.timeout)
            return nil
        } catch {
            return error.name == NotifyError.badConfiguration ? error : nil
        }
    }

    /// All properties of an interface; empty if they cannot be read.
    func properties(_ remote: Remote) async -> [String: Value] { (try? await allProperties(remote)) ?? [:] }

    private func allProperties(_ remote: Remote) async throws(NotifyError) -> [String: Value] {
        let properties = Remote(name: remote.name, path: remote.path, interface: "org.freedesktop.DBus.Properties")
        return try await ask(properties, "GetAll", [.string(remote.interface)]).first?.entries ?? [:]
    }

    /// What a program says of itself; one that does not run, or is too old, says nothing.
    func diagnosis(_ remote: Remote) async -> [Finding] {
        let rows = (try? await ask(remote, "Diagnose"))?.first?.elements ?? []
        return rows.prefix(Finding.mostOfAProgram).compactMap { $0.texts(atLeast: 3) }.map {
            .warning($0[0], $0[1], $0[2])
        }
    }

    /// Whether a program answers when it is asked for the properties of an interface, in whatever way.
    func answers(_ remote: Remote) async -> Bool {
        do throws(NotifyError) {
            _ = try await allProperties(remote)
            return true
        } catch {
            return error.code == .refused
        }
    }

    /// The program that owns a name, for people: what it is called, its process and its unit.
    func program(of name: String) async -> String? {
        guard let process = await process(of: name) else { return nil }
        return ServerCheck.identity(
            FileFacts.text(of: "/proc/\(process)/comm"), process: process,
            cgroup: FileFacts.text(of: "/proc/\(process)/cgroup"))
    }

    /// The unique name of the owner of a name, or `nil`.
    func owner(of name: String) async -> String? { try? await askBus("GetNameOwner", [.string(name)])?.string }

    func process(of name: String) async -> Int? {
        try? await askBus("GetConnectionUnixProcessID", [.string(name)])?.integer()
    }

    /// The names for which the bus can start a program.
    func activatable() async -> [String] {
        (try? await askBus("ListActivatableNames"))?.elements?.compactMap(\.string) ?? []
    }

    /// All names on the bus.
    func names() async -> [String] { (try? await askBus("ListNames"))?.elements?.compactMap(\.string) ?? [] }

    private func askBus(_ member: String, _ arguments: [Value] = []) async throws(NotifyError) -> Value? {
        try await connection.call(.toBus(member, arguments), timeout: Self.timeout).arguments.first
    }

    /// Connects to the bus for as long as `body` runs.
    ///
    /// - Parameter address: `nil`: the session bus.
    static func run<Result>(
        at address: String?, _ body: (BusQuery) async throws -> Result
    ) async throws -> Result {
        guard let address = address ?? NotifyClient.sessionBusAddress else { throw NotifyError.noSessionBus }
        let connection = try await Connection.open(address)
        defer { connection.close() }
        return try await body(BusQuery(connection: connection))
    }
}

extension BusOptions {
    /// Connects to the bus; notifyd need not be there.
    func withQuery<Result>(_ body: (BusQuery) async throws -> Result) async throws -> Result {
        try await BusQuery.run(at: address, body)
    }
}

// MARK: The service manager

extension BusQuery {
    func askManager(_ member: String, _ arguments: String...) async throws(NotifyError) -> Value? {
        try await ask(.manager, member, arguments.map(Value.string)).first
    }

    /// The properties of a unit, such as `LoadState` and `ActiveState`; empty if no service manager knows it.
    func unit(_ name: String) async -> [String: Value] { await properties(ofUnit: name, "Unit") }

    /// The properties that only a service has, such as `MainPID`; empty if no service manager knows it.
    func service(_ name: String) async -> [String: Value] { await properties(ofUnit: name, "Service") }

    private func properties(ofUnit name: String, _ interface: String) async -> [String: Value] {
        guard let path = try? await askManager("LoadUnit", name)?.string else { return [:] }
        return await properties(.systemd(path, interface))
    }

    /// Whether a unit is started when its user logs in.
    func isEnabled(_ unit: String) async -> Bool {
        (try? await askManager("GetUnitFileState", unit)?.string)?.hasPrefix("enabled") ?? false
    }

    /// The variables that the service manager gives to what it starts; `nil` without one.
    func managerEnvironment() async -> [String: String]? {
        await properties(.manager)["Environment"]?.elements
            .map { ProcessFacts.variables($0.compactMap(\.string)) }
    }

    /// The `PATH` with which notifyd looks for the programs of buttons: that of the service manager if it starts
    /// notifyd, else that of the running notifyd; `nil` if neither is there.
    func pathOfButtons() async -> String? {
        let (process, unit) = (await process(of: Router.name), await UnitCheck.ask(self))
        guard process == nil ? unit.loadState == "loaded" : process == unit.process else {
            return process.flatMap(ProcessFacts.environment)?["PATH"]
        }
        return await managerEnvironment()?["PATH"]
    }
}

/// Starts notifyd, and reports early if that fails.
///
/// systemd does not tell the bus that a unit has failed. A caller waits until its call times out, and so does every
/// other caller meanwhile, even after the unit was repaired. So this asks the service manager, if there is one.
struct Activation {
    private static let limit: Duration = .seconds(25)
    private static let pollInterval: Duration = .milliseconds(50)

    let query: BusQuery

    /// - Parameter starting: if false, it only finds out why notifyd does not run.
    /// - Throws: if it is known why notifyd does not start. Otherwise the next call reports the error.
    func perform(starting: Bool) async throws {
        let unit = await UnitCheck.ask(query)
        guard starting else {
            if let error = await failure(of: unit) { throw error }
            return
        }
        guard await query.activatable().contains(Router.name) else { return }
        if unit.hasManager, ["loaded", "masked"].contains(unit.loadState) {
            try await startUnit()
        } else {
            try await startService()
        }
        if let error = await query.badConfiguration() { throw error }
    }

    private func startUnit() async throws {
        let deadline = ContinuousClock.now + Self.limit
        do throws(NotifyError) {
            _ = try await query.askManager("StartUnit", "notifyd.service", "replace")
        } catch {
            guard error.code == .refused else { throw error }
            throw Complaint(.notReachable, "notifyd cannot be started: \(error.message)")
        }
        while await query.owner(of: Router.name) == nil {
            let unit = await UnitCheck.ask(query)
            if let error = await failure(of: unit) { throw error }
            // It may be on another bus.
            if unit.activeState == "active", !unit.hasJob { return }
            guard ContinuousClock.now < deadline else {
                throw NotifyError(.timedOut, "notifyd.service has not started within 25 s.")
            }
            try? await Task.sleep(for: Self.pollInterval)
            if Task.isCancelled { return }
        }
    }

    private func startService() async throws {
        do throws(NotifyError) {
            _ = try await query.connection.call(.toBus("StartServiceByName", [.string(Router.name), .uint32(0)]))
        } catch {
            guard error.code == .refused || error.code == .notReachable else { throw error }
            throw Complaint(
                .notReachable, "notifyd could not be started by the bus: \(error.message) “notifyctl doctor” says more."
            )
        }
    }

    /// Why the unit has failed, if it has.
    private func failure(of unit: UnitCheck) async -> (any Error)? {
        guard unit.activeState == "failed" || unit.loadState == "masked", !unit.hasJob else { return nil }
        if unit.failure.exitStatus == 78,
            let report = await ConfigurationCheck.ask().report, report.code == 78
        {
            let mistakes = report.lines.joined(separator: "\n")
            return NotifyError(
                .notReachable, "notifyd does not run, its configuration is bad:\n\(mistakes)",
                name: NotifyError.badConfiguration)
        }
        let finding = unit.finding
        return Complaint(
            .notReachable, "notifyd is not on this bus: notifyd.service: \(finding.state). \(finding.advice ?? "")")
    }
}

/// Finds the `notifyd` that belongs to this `notifyctl`.
enum Daemon {
    /// The path of this `notifyctl`.
    static var ownPath: String? { FileFacts.link(at: "/proc/self/exe") }

    /// Beside this program, else in `$PATH`.
    ///
    /// - Parameters:
    ///   - name: of the program.
    ///   - option: names another one.
    static func locate(_ name: String = "notifyd", option: String = "--daemon") throws(ProcessError) -> String {
        var candidates: [String] = []
        if let own = ownPath, let slash = own.lastIndex(of: "/") { candidates.append(own[...slash] + name) }
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        candidates += path.split(separator: ":").map { $0 + "/" + name }
        guard let found = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw ProcessError(
                "No \(name) was found, neither beside notifyctl nor in $PATH. Install it, or name one with \(option).")
        }
        return found
    }

    /// Runs a notifyd to its end.
    ///
    /// - Returns: its exit code, and its lines: its output if the code is 0, otherwise its errors. There is one at
    ///   least: every notifyd says something.
    static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = ChildProcess.currentEnvironment,
        within limit: Duration = .seconds(60)
    ) async throws(ProcessError) -> (code: CInt, lines: [String]) {
        let process = try ChildProcess(program, arguments, environment: environment, capturing: [1, 2])
        switch await process.waitForExit(within: limit) {
        case .code(let code)?:
            let lines = await process.allLines(of: code == 0 ? 1 : 2) ?? []
            if lines.isEmpty {
                throw ProcessError("\(program) ended with exit code \(code) and said nothing: it is not notifyd.")
            }
            return (code, lines)
        case .signal(let number)?: throw ProcessError("\(program) was ended by signal \(number).")
        case nil: throw ProcessError("\(program) did not end within \(limit.shortText).")
        }
    }
}

struct ProcessFacts: Equatable {
    var gainsNoPrivileges = false
    var filtersCalls = false
    /// Whether it has a user namespace other than ours.
    var hasOwnUsers = false
}

extension ProcessFacts {
    /// - Returns: `nil` if the process is gone or belongs to another user.
    init?(of process: Int) {
        guard let status = FileFacts.text(of: "/proc/\(process)/status"),
            let users = FileFacts.link(at: "/proc/\(process)/ns/user"),
            let ours = FileFacts.link(at: "/proc/self/ns/user")
        else { return nil }
        func isSet(_ name: String, to value: String) -> Bool {
            status.split(separator: "\n").contains("\(name):\t\(value)")
        }
        self.init(
            gainsNoPrivileges: isSet("NoNewPrivs", to: "1"), filtersCalls: isSet("Seccomp", to: "2"),
            hasOwnUsers: users != ours)
    }

    /// The number of the process that has started a process; 1 if that is gone.
    static func parent(of process: String) -> String? {
        let line = FileFacts.text(of: "/proc/\(process)/status")?.split(separator: "\n").first { $0.hasPrefix("PPid:") }
        return line?.split(separator: "\t").last.map(String.init)
    }

    static func environment(of process: Int) -> [String: String]? {
        guard let text = FileFacts.text(of: "/proc/\(process)/environ") else { return nil }
        return variables(text.split(separator: "\0").map(String.init))
    }

    /// The folder or file that an option of a running program names; `nil` if it has no such option.
    static func path(after option: String, of process: Int) -> String? {
        let words = (FileFacts.text(of: "/proc/\(process)/cmdline") ?? "").split(separator: "\0").map(String.init)
        let next = words.firstIndex(of: option).flatMap { words.dropFirst($0 + 1).first }
        let joined = words.first { $0.hasPrefix(option + "=") }.map { String($0.dropFirst(option.count + 1)) }
        guard let path = next ?? joined else { return nil }
        if path.hasPrefix("/") { return path }
        return FileFacts.link(at: "/proc/\(process)/cwd").map { $0 + "/" + path }
    }

    /// - Parameter lines: such as `HOME=/home/mina`.
    static func variables(_ lines: [String]) -> [String: String] {
        Dictionary(lines.compactMap { $0.cut(at: "=") }) { _, last in last }
    }
}

enum FileFacts {
    /// The beginning of a regular file.
    static func text(of path: String) -> String? {
        (try? FileKind.read(path, atMost: 256 << 10)).map { String(decoding: $0, as: UTF8.self) }
    }

    static func link(at path: String) -> String? { FileKind.target(ofLink: path) }

    /// The permissions of a file or folder, or `nil` if it cannot be read.
    static func mode(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    /// Whether two paths lead to the same file or folder.
    static func isSame(_ one: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(one, &first) == 0, stat(other, &second) == 0 else { return one == other }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// The free bytes for this user on the disk of a path.
    static func room(at path: String) -> UInt64? {
        var space = statvfs()
        return statvfs(path, &space) == 0 ? UInt64(space.f_bavail) * UInt64(space.f_frsize) : nil
    }

    static func names(in folder: String) -> [String] { (Folder.names(in: folder) ?? []).sorted() }
}
