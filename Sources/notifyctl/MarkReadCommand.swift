import ArgumentParser
import NotifyClient

struct MarkReadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark-read",
        abstract: "Say that everything at or below a topic has been seen.",
        discussion: """
            What is undecided or shown is claimed, and its banners are closed. What is muted or expired keeps its outcome, and \
            is no longer unread. Prints how many events were unread.

            Examples:
              notifyctl mark-read /post/27
              notifyctl mark-read / --up-to 1795231492321669
            """)

    @Argument(help: "A topic, such as /post/27; / means every topic.", completion: Completion.prefixes)
    var topic: String
    @Option(
        name: .customLong("up-to"), help: "Leave what has a higher id as it is. (default: everything)",
        completion: Completion.events)
    var last: UInt64?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingFailures {
            let count = try await bus.connect().markRead(topic, upTo: EventID(rawValue: last ?? 0))
            output.write(.object([("topic", .string(topic)), ("count", .integer(count))]), text: "\(count)")
        }
    }
}
