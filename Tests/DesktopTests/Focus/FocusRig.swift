import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport

/// A bus with a notifyd, and a notifyd-focus with a desktop.
final class FocusRig: StartedProgram {
    static let rules = """
        [[screen]]
        app = "firefox"
        title = '^Post (?<id>[0-9]+) '
        topic = "/post/{id}"

        [[screen]]
        app = "element"
        topic = "/chat"
        state = "visible"

        """

    let bus: PrivateBus
    let daemon: DaemonProcess
    let client: NotifyClient
    let folder: TemporaryFolder
    /// The variables that say where the desktop is.
    private let desktop: [String: String]
    let process = Locked<ChildProcess?>(nil)

    private init(desktop: [String: String], rules: String) async throws {
        self.desktop = desktop
        bus = try await PrivateBus()
        daemon = try await DaemonProcess.start(BuiltPrograms.notifyd, on: bus)
        client = try await NotifyClient(address: bus.address)
        folder = try TemporaryFolder()
        try configure(rules)
    }

    /// - Parameter desktop: the variables that say where the desktop is.
    static func with(
        _ desktop: [String: String], rules: String = rules, _ body: (FocusRig) async throws -> Void
    ) async throws {
        let rig = try await FocusRig(desktop: desktop, rules: rules)
        try await finally {
            await rig.stop()
            await rig.client.close()
            await rig.daemon.stop()
            rig.daemon.folder.remove()
            await rig.bus.remove()
            rig.folder.remove()
        } after: {
            try await body(rig)
        }
    }

    // MARK: notifyd-focus

    var environment: [String: String] {
        ChildProcess.environment(in: folder, on: bus.address, ["LC_ALL": "C.UTF-8"].merging(desktop) { $1 })
    }

    func configure(_ rules: String) throws { try folder.write(rules, to: "config/notifyd/focus.toml") }

    /// The text of the file with the rules.
    func configuration() throws -> String {
        guard let file = fopen(folder.path + "/config/notifyd/focus.toml", "re") else {
            throw RehearsalError("There is no focus.toml.")
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    func launch() throws {
        let child = try ChildProcess(BuiltPrograms.notifydFocus, [], environment: environment, capturing: [1, 2])
        process.withLock { $0 = child }
    }

    /// Starts it, and returns when it follows windows.
    func start() async throws {
        try launch()
        try await until("windows are followed") { try await state()["following"]?.boolean == true }
    }

    // MARK: What is there

    func call(_ member: String, _ arguments: [Value] = []) async throws(NotifyError) -> [Value] {
        let connection = try await Connection.open(bus.address)
        defer { connection.close() }
        return try await connection.call(
            .call(
                member, of: "org.notifyd.Focus1", at: "/org/notifyd/Focus1", on: "org.notifyd.Focus1", autoStart: false,
                arguments)
        ).arguments
    }

    /// What `Get` answers; empty while it is not there.
    func state() async throws -> [String: Value] { (try? await call("Get"))?.first?.entries ?? [:] }

    /// The screens at notifyd, such as `/post/27 focused`, in the order of their topics.
    func screens() async throws -> [String] {
        try await client.screens().map { "\($0.topic) \($0.state.rawValue)" }.sorted()
    }

    /// Returns when these screens are open, and no others.
    func expect(_ expected: String...) async throws {
        try await until("the screens are \(expected)") { try await screens() == expected }
    }

    func until(_ fact: String, _ isTrue: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(30) * Timeouts.factor
        while try await !isTrue() {
            guard ContinuousClock.now < deadline else {
                let screens = (try? await screens()) ?? []
                throw RehearsalError("It did not come true that \(fact). Screens: \(screens). The log: \(log)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    func notifyctl(_ arguments: String...) async throws -> CommandResult {
        try await ChildProcess.run(
            BuiltPrograms.notifyctl, arguments, environment: environment, within: .seconds(60))
    }
}
