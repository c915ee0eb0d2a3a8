import ArgumentParser
import NotifyClient

struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Draw how the decision about an event came about.",
        discussion: """
            P published, [==] the window, C a claim (c: one that changed nothing), r the end of one that came to \
            nothing, B a banner, x its end. Times count from publishing; what lies beyond the picture is drawn at its edge.

            Exit code 1 if there is no such event, or not any more.

            Examples:
              notifyctl why 1795231492321669
              notifyctl why "$(notifyctl history -n 1 --json=short | jq .id)"
            """)

    @Argument(
        help: "The id of the event, as “send”, “listen” and “history” print it.", completion: Completion.events)
    var id: UInt64

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingFailures {
            let explanation = try await bus.connect().explain(EventID(rawValue: id))
            output.write(
                .object(
                    [("id", .integer(id)), ("topic", .string(explanation.topic))] + explanation.members),
                text: Decision(explanation).lines.joined(separator: "\n"))
        }
    }
}
