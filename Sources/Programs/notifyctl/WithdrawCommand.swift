import ArgumentParser
import NotifyClient
import NotifyJSON

struct WithdrawCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "withdraw",
        abstract: "Take back an event that no longer matters.",
        discussion: """
            An undecided event gets no banner. A banner that shows it is closed, or updated if it shows other events too. \
            A muted or expired event counts as read; any other decided event keeps its outcome.

            Examples:
              notifyctl withdraw 1795231492321669
              notifyctl withdraw last
            """)

    @Argument(
        help: ArgumentHelp(
            "The id of the event, as “send”, “listen” and “history” print it, or “last”.", valueName: "id"),
        completion: Completion.eventsAndLast, transform: EventArgument.parse)
    var event: EventArgument

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let client = try await bus.connect()
        let id = try await event.find(client)
        try await client.withdraw(id)
        if output.json != .off { output.write(.object([("id", .integer(id.rawValue))]), text: "") }
    }
}
