import ArgumentParser
import NotifyClient
import NotifyJSON

struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain the decision about an event with a drawing.",
        discussion: """
            P published, [==] the window ([==> while it is open), C a claim (c: one that came too late to change a banner), r the end of a \
            hold that was not confirmed, z a snooze, B## a banner, x its end. Times count from publishing; later steps are \
            drawn at the edge.

            Exit code 1 if there is no such event.

            Examples:
              notifyctl why 1795231492321669
              notifyctl why last
            """)

    @OptionGroup var event: EventOptions
    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let explanation = try await event.explanation(try await bus.connect(reading: true))
        output.write(
            .object(
                [("id", .integer(explanation.id.rawValue)), ("topic", .string(explanation.topic))] + explanation.members
            ),
            text: Decision(explanation, now: Timestamp.now).lines(within: Terminal.size?.columns).joined(
                separator: "\n"))
    }
}
