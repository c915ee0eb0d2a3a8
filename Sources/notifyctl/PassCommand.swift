import ArgumentParser
import NotifyClient

struct PassCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pass",
        abstract: "Say that an event is not yours to show.",
        discussion: """
            It speaks for the screens of the connection that says it, which is a new one here: a screen held by “notifyctl \
            screen --mode ask” reads its answers from standard input instead. Exit code 1 if there is no such event.

            Examples:
              notifyctl pass 1795231492321669
            """)

    @Argument(help: "The id of the event, as “send” and “listen” print it.", completion: Completion.events)
    var id: UInt64

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingFailures {
            try await bus.connect().pass(EventID(rawValue: id))
            output.write(.object([("id", .integer(id))]), text: nil)
        }
    }
}
