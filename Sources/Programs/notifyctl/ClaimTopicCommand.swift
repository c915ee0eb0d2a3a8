import ArgumentParser
import NotifyClient
import NotifyJSON

struct ClaimTopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claim-topic",
        abstract: "Claim all undecided or shown events at or below a topic.",
        discussion: """
            Prints how many events were claimed. With --grace new events are claimed too, even after notifyctl has ended. \
            Exit code 1 if there was none, and no --grace.

            Examples:
              notifyctl claim-topic /post/27 --grace 2s && xdg-open https://example.org
            """)

    @Argument(help: "A topic, such as /post/27.", completion: Completion.prefixes)
    var topic: String
    @Option(
        parsing: .unconditional,
        help: "Go on claiming for this long, in whole milliseconds; at most 10s. (default: 0s)",
        transform: DurationArgument.parse(.zero ... .seconds(10), in: .milliseconds(1)))
    var grace = DurationArgument(duration: .zero)

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try TopicFilter.requireSlash(topic)
        let count = try await bus.connect().claimTopic(topic, grace: grace.duration)
        output.write(.object([("topic", .string(topic)), ("count", .integer(count))]), text: "\(count)")
        if count == 0, grace.duration == .zero { throw ExitCode.nothing }
    }
}
