import ArgumentParser
import NotifyClient
import NotifyJSON

struct ClaimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claim",
        abstract: "Claim an event, so that it gets no banner.",
        discussion: """
            Prints the verdict: suppressed (in time), retracted (the banner was shown and is now closed) or \
            recorded (there was nothing to suppress, or other events keep the banner open).

            Examples:
              notifyctl claim 1795231492321669
              notifyctl claim last
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
        let verdict = try await client.claim(id)
        output.write(
            .object([("id", .integer(id.rawValue)), ("verdict", .string(verdict.rawValue))]),
            text: Terminal.plain(verdict.rawValue))
    }
}
