import ArgumentParser
import Glibc
import NotifyClient

struct ShellEndedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ended",
        abstract: "Report that a command has ended, as “shell init” has shells do.",
        discussion: """
            The command is in the variable NOTIFYD_SHELL_COMMAND, those that are not reported are in NOTIFYD_SHELL_IGNORE, and when the \
            terminal was last read from, in seconds since 1970, is in NOTIFYD_SHELL_INPUT. It gives up after 10 seconds.

            Examples:
              export NOTIFYD_SHELL_COMMAND='make test'
              notifyctl shell ended --topic /shell/lab/pts-3 --status 2 --after 95s
            """)

    /// A hanging bus keeps nothing behind.
    private static let patience: UInt32 = 10

    @Option(help: "Where it is reported; shells have it in NOTIFYD_SHELL_TOPIC.", completion: Completion.prefixes)
    var topic: String
    @Option(
        parsing: .unconditional, help: "The exit status of the command.",
        transform: NumberArgument.parse(0...255, "an exit status"))
    var status: Int
    @Option(
        parsing: .unconditional, help: "How long the command took, such as 95s.", transform: DurationArgument.parse)
    var after: DurationArgument

    @OptionGroup var bus: BusOptions

    func run() async throws {
        alarm(Self.patience)
        let input = Self.variable("NOTIFYD_SHELL_INPUT").flatMap { Int64($0) }.map { TerminalInput(lastRead: $0) }
        guard input?.wasTaken(upTo: Int64(time(nil)), by: after.duration) != true else { return }
        let report = ShellReport(
            command: Self.variable("NOTIFYD_SHELL_COMMAND") ?? "", status: status, duration: after.duration,
            ignored: Self.variable("NOTIFYD_SHELL_IGNORE") ?? InteractiveCommands.usual)
        guard let report else { return }
        var fields: Fields = [
            "exit-code": .int64(Int64(status)), "duration": .int64(after.duration.components.seconds),
        ]
        if let directory = getcwd(nil, 0) {
            fields["directory"] = .string(ShellReport.sendable(String(cString: directory)))
            free(directory)
        }
        let client = try await bus.connect()
        try await client.publish(
            topic, title: report.title, body: report.body, fields: fields,
            options: PublishOptions(
                appearance: BannerOptions(
                    app: "Terminal", icon: report.hasFailed ? "dialog-error" : "utilities-terminal")))
        await client.close()
    }

    /// A command may have bytes that are no UTF-8.
    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
