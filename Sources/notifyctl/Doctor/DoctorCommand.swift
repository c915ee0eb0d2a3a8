import ArgumentParser
import NotifyClient
import NotifyRehearsal

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check that notifyd and what it depends on are well, and say what to do if not.",
        discussion: """
            Looks at the bus, notifyd and its activation, the unit and the sandbox that is really in force, the notification \
            server, the journal, the session and the configuration. Starts and changes nothing. Exit code 0 if all is well, \
            else 1.

            Examples:
              notifyctl doctor
              notifyctl doctor --json=short | jq -r '.findings[] | select(.level != "ok").advice'
            """)

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let findings = await findings()
        let isWell = findings.allSatisfy { $0.level == .ok }
        output.write(
            .object([("well", .bool(isWell)), ("findings", .array(findings.map(\.json)))]),
            text: Finding.lines(findings).joined(separator: "\n"))
        if !isWell { throw ExitCode.nothing }
    }

    private func findings() async -> [Finding] {
        let check = "bus"
        guard let address = bus.address ?? NotifyClient.sessionBusAddress else {
            return [
                .problem(
                    check, "unknown: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set",
                    "Run this in your session, or name the bus with --address.")
            ]
        }
        do throws(NotifyError) {
            let connection = try await Connection.open(address)
            defer { connection.close() }
            let examination = Examination(connection: connection, environment: ChildProcess.currentEnvironment)
            return await [.ok(check, address)] + examination.findings()
        } catch {
            return [
                .problem(
                    check, error.message,
                    "Is a session bus running (systemctl --user start dbus.socket)? Name another with --address.")
            ]
        }
    }
}
