import ArgumentParser
import ChildProcesses
import NotifyClient
import NotifyJSON

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check notifyd and everything it depends on, and say what to do about problems.",
        discussion: """
            Checks the bus, notifyd and its activation, the unit and the sandbox in force, the notification server, the \
            journal, the bridges and the link, the windows that are followed, the browsers, the session and the \
            configuration. Starts and changes nothing. Exit code 1 if there is a problem or a warning.

            Examples:
              notifyctl doctor
              notifyctl doctor --json=short | jq -r '.findings[].advice // empty'
            """)

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let findings = await findings()
        let isWell = findings.allSatisfy { $0.level == .ok }
        output.write(
            .object([("well", .boolean(isWell)), ("findings", .array(findings.map(\.json)))]),
            text: Finding.lines(findings).joined(separator: "\n"))
        if !isWell { throw ExitCode.nothing }
    }

    private func findings() async -> [Finding] {
        let check = "bus"
        guard let address = bus.address ?? NotifyClient.sessionBusAddress else {
            return [
                .problem(check, NotifyError.noSessionBus.message, NotifyError.busAdvice)
            ]
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
                    "To start one: systemctl --user start dbus.socket. \(NotifyError.busAdvice)")
            ]
        }
    }
}
