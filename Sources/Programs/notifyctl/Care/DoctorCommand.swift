import ArgumentParser
import Glibc
import NotifyClient
import NotifyText
import UserFiles

struct DoctorCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check notifyd and everything it depends on, and say what to do about problems.",
        discussion: """
            Checks the bus, notifyd and its activation, the unit and the sandbox in force, the notification server, \
            the journal, the bridges and the link, the windows that are followed, the browsers, the session and the \
            configuration. Starts and changes nothing. Exit code 1 if there is a problem or a warning.

            Examples:
              notifyctl doctor
              notifyctl doctor --json=short | jq -r '.findings[].advice // empty'
            """)

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let findings = await findings()
        let isWell = findings.allSatisfy { $0.level == .ok }
        output.write(
            ["well": isWell, "findings": findings.map(\.json)],
            text: Finding.lines(findings).joined(separator: "\n"))
        if !isWell { throw ExitCode.nothing }
    }

    private func findings() async -> [Finding] {
        let check = "bus"
        guard let address = bus.address ?? NotifyClient.sessionBusAddress else {
            return [.problem(check, NotifyError.noSessionBus.message, NotifyError.busAdvice())]
        }
        do throws(NotifyError) {
            let connection = try await Connection.open(address)
            defer { connection.close() }
            let diagnosis = Diagnosis(
                query: BusQuery(connection: connection), environment: ChildProcess.currentEnvironment)
            return await [.ok(check, address)] + diagnosis.findings()
        } catch {
            return [
                .problem(
                    check, error.message,
                    "To start one: systemctl --user start dbus.socket. \(NotifyError.busAdvice())")
            ]
        }
    }
}

/// Collects the facts for the checks. It changes nothing.
struct Diagnosis {
    let query: BusQuery
    let environment: [String: String]

    func findings() async -> [Finding] {
        let isRunning = await query.owner(of: Router.name) != nil
        let properties = await isRunning ? query.properties(.router) : [:]
        let statistics = properties.statistics
        let process = await isRunning ? query.process(of: Router.name) : nil
        let theirs = process.flatMap(ProcessFacts.environment(of:)) ?? environment
        let activatable = await query.activatable()
        let unit = await UnitCheck.ask(query)

        var router = RouterCheck(
            isRunning: isRunning, properties: properties, ownVersion: projectVersion, process: process, unit: unit,
            isActivatable: activatable.contains(Router.name))
        if isRunning, properties.isEmpty { router.hasBadConfiguration = await query.badConfiguration() != nil }
        if isRunning, properties["Version"]?.string == nil, await query.answers(.router) {
            router.stranger = await query.program(of: Router.name)
        }

        var sandbox = SandboxCheck(hasManager: unit.hasManager, process: process.flatMap(ProcessFacts.init(of:)))
        if process != nil, process == unit.process {
            sandbox.wantsNamespaces = unit.service["PrivateUsers"]?.boolean
            sandbox.loosened = SandboxSettings.loosened(unit.service)
        }

        var server = await server()
        server.isActivatable = activatable.contains("org.freedesktop.Notifications")
        if !server.isThere { server.installed = await InstalledServer.all(query, environment: environment) }
        server.statistics = statistics
        let session = SessionCheck(hasLogin: await hasLogin(theirs), statistics: statistics, lingers: lingers())

        let bridges = await BridgeCheck.ask(query)
        let link = await LinkCheck.ask(query)
        let told = await properties.isEmpty ? [] : query.diagnosis(.router)
        var journal = journal(of: process, theirs, statistics, sandbox.wantsNamespaces == nil ? [:] : unit.service)
        journal.problem = told.first { $0.check == JournalCheck.check }

        let programs = router.findings + RunningProgram.all().compactMap(\.finding) + [unit.finding]
        return programs + [sandbox.finding].compactMap { $0 } + [server.finding]
            + told.filter { $0.check != JournalCheck.check } + (await query.diagnosis(.desktop))
            + journal.findings + bridges.findings
            + link.findings
            + (await PushCheck.ask(query, activatable: activatable)).findings
            + (await FocusCheck.ask(query)).findings + BrowserCheck(environment: environment).findings
            + [
                session.finding,
                await ConfigurationCheck.ask(
                    as: process, isRunning: !properties.isEmpty, path: query.pathOfButtons()
                ).finding,
            ]
    }

    // MARK: The notification server

    private func server() async -> ServerCheck {
        let name = "org.freedesktop.Notifications"
        let remote = Remote(name: name, path: "/org/freedesktop/Notifications", interface: name)
        var check = ServerCheck()
        check.isThere = await query.owner(of: name) != nil
        guard check.isThere else { return check }
        do throws(NotifyError) {
            let information = try await query.ask(remote, "GetServerInformation").map { $0.string ?? "" }
            check.answer = .information(name: information.first ?? "", version: information.dropFirst(2).first ?? "")
            let capabilities = try? await query.ask(remote, "GetCapabilities")
            check.capabilities = capabilities?.first?.elements?.compactMap(\.string)
        } catch {
            check.answer = error.code == .timedOut ? .none : .error(error.description)
            check.identity = await query.program(of: name)
        }
        return check
    }

    // MARK: The journal

    /// - Parameters:
    ///   - environment: that of notifyd, or the one it would have.
    ///   - service: the running unit, whose sandbox may prevent writing.
    private func journal(
        of process: Int?, _ environment: [String: String], _ statistics: [String: UInt64], _ service: [String: Value]
    ) -> JournalCheck {
        let folder =
            process.flatMap { ProcessFacts.path(after: "--state", of: $0) } ?? BaseDirectories { environment[$0] }.state
        let names = FileFacts.names(in: folder)
        var check = JournalCheck(
            folder: folder, mode: FileFacts.mode(of: folder + "/index.db"), room: FileFacts.room(at: folder),
            damaged: names.filter { $0.hasPrefix("index.db.damaged-") },
            earlier: names.filter { $0.contains(".earlier") }, statistics: statistics)
        if service["ProtectSystem"]?.string == "strict" {
            check.writableFolders = service["ReadWritePaths"]?.elements?.compactMap(\.string)
                .map { $0.hasPrefix("-") ? String($0.dropFirst()) : $0 }
        }
        return check
    }

    // MARK: The session

    /// - Parameter environment: that of notifyd, which may have another system bus than this program.
    private func hasLogin(_ environment: [String: String]) async -> Bool {
        let address = environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket"
        guard let connection = try? await Connection.open(address) else { return false }
        defer { connection.close() }
        return await BusQuery(connection: connection).owner(of: "org.freedesktop.login1") != nil
    }

    private func lingers() -> Bool {
        guard let name = getpwuid(getuid())?.pointee.pw_name else { return false }
        return FileFacts.mode(of: "/var/lib/systemd/linger/" + String(cString: name)) != nil
    }
}

struct Finding: Equatable {
    enum Level: String {
        case ok
        /// It works, but not fully.
        case warning
        /// It does not work.
        case problem
    }

    let check: String
    let level: Level
    /// The state, in a few words.
    let state: String
    /// What to do, if anything.
    let advice: String?

    /// How many findings a program may have of itself: whoever has its name may answer anything.
    static let mostOfAProgram = 20
    private static let longestCheck = 60
    private static let longestText = 2_000

    /// - Parameter state: the lines of an error become one.
    init(check: String, level: Level, state: String, advice: String?) {
        self.check = Self.cut(check, Self.longestCheck)
        self.level = level
        self.state = Self.cut(state.split(separator: "\n").joined(separator: "; "), Self.longestText)
        self.advice = advice.map { Self.cut($0, Self.longestText) }
    }

    private static func cut(_ text: String, _ length: Int) -> String {
        text.utf8.count > length && text.count > length ? text.prefix(length - 1) + "…" : text
    }

    /// A program that has a name of notifyd's on the bus, and answers as notifyd does not.
    ///
    /// - Parameters:
    ///   - name: on the bus.
    ///   - program: with its process.
    static func stranger(_ check: String, _ name: String, _ program: String) -> Finding {
        .problem(
            check, "\(program) has the name \(name), and its answer does not have the form of that interface",
            "Another program is using the name, or one of another version. End it, and start notifyd's again.")
    }

    static func ok(_ check: String, _ state: String) -> Finding {
        Finding(check: check, level: .ok, state: state, advice: nil)
    }

    static func warning(_ check: String, _ state: String, _ advice: String) -> Finding {
        Finding(check: check, level: .warning, state: state, advice: advice)
    }

    static func problem(_ check: String, _ state: String, _ advice: String) -> Finding {
        Finding(check: check, level: .problem, state: state, advice: advice)
    }
}

extension Finding {
    var json: JSON {
        JSON.object(present: ["check": check, "level": level.rawValue, "state": state, "advice": advice])
    }

    private var colour: Terminal.Style {
        switch level {
        case .ok: .green
        case .warning: .yellow
        case .problem: .red
        }
    }

    /// One line for each state, and one for its advice. Lines are not cut, so that commands can be copied.
    static func lines(_ findings: [Finding]) -> [String] {
        let rows = findings.flatMap { finding in
            [[Cell(finding.level.rawValue, finding.colour), Cell(finding.check), Cell(finding.state)]]
                + (finding.advice.map { [[Cell(""), Cell(""), Cell("→ " + $0)]] } ?? [])
        }
        guard let width = Terminal.size?.columns else { return Columns.lines(rows, within: nil) }
        // Long states and advice wrap within their column.
        return Columns.wrapped(
            rows.map { row in
                let name = row[1].columns == 0 ? Cell("") : row[0] + Cell("  ") + row[1]
                return [name, row[2]]
            }, within: width)
    }
}
