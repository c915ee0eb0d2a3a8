import ArgumentParser
import NotifyJSON
import StandardStreams

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Check the configuration.",
        discussion: """
            Examples:
              notifyctl config check
            """,
        subcommands: [Check.self])

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Check the configuration the way notifyd reads it.",
            discussion: """
                Exit code 78 if there is a mistake; it is reported with line and column.

                Examples:
                  notifyctl config check && systemctl --user reload notifyd
                  notifyctl config check new.toml
                """)

        @Argument(
            help: "A configuration file, instead of the user's own.", completion: .file(extensions: ["toml"]))
        var file: String?
        @Option(help: "The notifyd to ask, instead of the one beside notifyctl or in $PATH.", completion: .file())
        var daemon: String?

        @OptionGroup var output: OutputOptions

        func run() async throws {
            let program = try daemon ?? Daemon.locate()
            let arguments = ["--check-config"] + (file.map { ["--config", $0] } ?? [])
            let (code, lines) = try await Daemon.run(program, arguments)
            let report = lines.joined(separator: "\n")
            output.write(
                .object([("good", .boolean(code == 0)), ("report", .array(lines.map(JSON.string)))]),
                text: code == 0 ? report : nil)
            if code != 0 {
                if output.json == .off { StandardStreams.writeToError(report + "\n") }
                throw ExitCode(code)
            }
        }
    }
}
