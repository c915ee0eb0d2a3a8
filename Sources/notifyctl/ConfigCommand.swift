import ArgumentParser
import Glibc
import NotifyRehearsal

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Look after the configuration.", subcommands: [Check.self])

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Check the configuration the way notifyd reads it.",
            discussion: "Exit code 78 if there is something wrong, which is then named with line and column.")

        @Argument(help: "A configuration file, instead of the user's own.")
        var file: String?
        @Option(help: "The notifyd to ask, instead of the one beside notifyctl or in $PATH.")
        var daemon: String?

        func run() async throws {
            try await reportingFailures {
                let program = try daemon ?? Daemon.locate()
                let arguments = ["--check-config"] + (file.map { ["--config", $0] } ?? [])
                let process = try ChildProcess(program, arguments, environment: ChildProcess.currentEnvironment)
                switch await process.waitForExit(within: .seconds(60)) {
                case .code(0)?: return
                case .code(let code)?: throw ExitCode(code)
                case .signal(let number)?: throw RehearsalError("\(program) was ended by signal \(number).")
                case nil: throw RehearsalError("\(program) did not end within a minute.")
                }
            }
        }
    }
}
