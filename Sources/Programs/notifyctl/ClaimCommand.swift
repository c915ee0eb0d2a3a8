import ArgumentParser
import NotifyClient

struct ClaimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claim",
        abstract: "Claim an event, so that it gets no banner.",
        discussion: """
            Prints the verdict: suppressed (in time), retracted (the banner was shown and is now closed) or \
            recorded (there was nothing to suppress).

            Examples:
              notifyctl claim 1795231492321669
            """)

    @Argument(
        help: "The id of the event, as “send” and “listen” print it.", completion: Completion.events,
        transform: NumberArgument.eventID)
    var id: UInt64

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let verdict = try await bus.connect().claim(EventID(rawValue: id))
        output.write(
            .object([("id", .integer(id)), ("verdict", .string(verdict.rawValue))]),
            text: Terminal.plain(verdict.rawValue))
    }
}
