import ArgumentParser
import ChildProcesses
import NotifyClient
import NotifyJSON

struct LinkResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Give this machine a device of its own, if two machines share one.",
        discussion: """
            For a machine whose disk was copied to another one: both have the same device, and notifyd-mqtt has stopped on both. Run \
            this on each of them. It stops notifyd-mqtt and notifyd, has “notifyd --new-device” give the journal a new device, and starts \
            them again. Events stay, and keep their global names. Without a service manager it says what to do by hand.

            Examples:
              notifyctl link reset
            """)

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    /// Exit codes of “notifyd --new-device”.
    private static let journalInUse: CInt = 69
    /// A call in between has the bus start notifyd again.
    private static let attempts = 3

    func run() async throws {
        let device = try await bus.withQuery { query in try await reset(query) }
        output.write(
            ["device": device],
            text: """
                This machine is now device \(Terminal.plain(device)). Give one of the two machines another name in mqtt.toml, and \
                run “notifyctl link forget” on the other devices, with the device that both had.
                """)
    }

    private func reset(_ query: BusQuery) async throws -> String {
        let program = try Daemon.locate()
        let process = await query.process(of: Router.name)
        let isDaemonThere = await query.owner(of: Router.name) != nil
        let isBridgeThere = await query.owner(of: Remote.link.name) != nil
        let environment = Self.environment(of: process)
        let daemon = UnitControl(name: "notifyd.service", query: query)
        let bridge = UnitControl(name: "notifyd-mqtt.service", query: query)
        let hasManager = await query.owner(of: Remote.manager.name) != nil
        let runsDaemon = hasManager ? await daemon.isRunning() : false
        let runsBridge = hasManager ? await bridge.isRunning() : false
        guard !isDaemonThere || runsDaemon, !isBridgeThere || runsBridge else {
            Terminal.complain("No service manager runs notifyd and notifyd-mqtt here. Do it by hand:")
            Terminal.print(
                "1. End notifyd-mqtt and notifyd.\n2. notifyd --new-device\n3. Start notifyd and notifyd-mqtt again.")
            throw ExitCode.refused
        }
        let result: Result<(code: CInt, lines: [String]), any Error>
        do {
            if runsBridge { try await bridge.stop() }
            result = .success(try await renew(program, environment, after: runsDaemon ? daemon : nil))
        } catch {
            result = .failure(error)
        }
        // Whatever has become of it, what ran before runs again.
        if runsDaemon { try await daemon.start() }
        if runsBridge { try await bridge.start() }
        let report = try result.get()
        guard report.code == 0, let device = report.lines.last else {
            for line in report.lines { Terminal.complain(line) }
            throw ExitCode.refused
        }
        return device
    }

    /// - Parameter daemon: has to be stopped.
    private func renew(
        _ program: String, _ environment: [String: String], after daemon: UnitControl?
    ) async throws -> (code: CInt, lines: [String]) {
        var attempt = 1
        while true {
            try await daemon?.stop()
            let report = try await Daemon.run(program, ["--new-device"], environment: environment)
            guard report.code == Self.journalInUse, daemon != nil, attempt < Self.attempts else { return report }
            attempt += 1
        }
    }

    /// The journal is where the running notifyd has it.
    private static func environment(of process: Int?) -> [String: String] {
        var environment = ChildProcess.currentEnvironment
        guard let theirs = process.flatMap(ProcessFacts.environment(of:)) else { return environment }
        for name in ["HOME", "XDG_STATE_HOME"] { environment[name] = theirs[name] }
        return environment
    }
}

/// Stops and starts a unit of the user's service manager, and waits until it is done.
struct UnitControl {
    private static let limit: Duration = .seconds(25)
    private static let pollInterval: Duration = .milliseconds(50)

    let name: String
    let query: BusQuery

    /// `active`, `inactive`, `failed`, …; empty if the service manager does not know it.
    private func state() async -> String { await query.unit(name).text("ActiveState") }

    /// Whether it runs, or is about to.
    func isRunning() async -> Bool { ["active", "activating", "reloading"].contains(await state()) }

    func stop() async throws(NotifyError) {
        _ = try await query.askManager("StopUnit", name, "replace")
        try await wait("stopped") { ["inactive", "failed", ""].contains($0) }
    }

    func start() async throws(NotifyError) {
        _ = try await query.askManager("StartUnit", name, "replace")
        try await wait("started") { $0 == "active" }
    }

    private func wait(_ what: String, _ isDone: (String) -> Bool) async throws(NotifyError) {
        let deadline = ContinuousClock.now + Self.limit
        while !isDone(await state()) {
            guard ContinuousClock.now < deadline else {
                throw NotifyError(
                    .timedOut, "\(name) has not \(what) within 25 s. See: systemctl --user status \(name)",
                    name: NotifyError.hangs)
            }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }
}
