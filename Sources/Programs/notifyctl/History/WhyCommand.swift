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
            drawn at the edge. Where notifyd-ntfy tells a phone of events, the last line says whether it was told of this one.

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
        let phone = try await bus.withQuery { await PhoneNotice.all(of: explanation, $0) }
        let now = Timestamp.now
        output.write(
            .object(
                [("id", .integer(explanation.id.rawValue)), ("topic", .string(explanation.topic))] + explanation.members
                    + (phone.map { [("phone", .array($0.map(\.json)))] } ?? [])),
            text: (Decision(explanation, now: now).lines(within: Terminal.size?.columns)
                + (phone.map { PhoneNotice.lines($0, at: now) } ?? [])).joined(separator: "\n"))
    }
}
