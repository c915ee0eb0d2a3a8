import ArgumentParser
import NotifyClient
import NotifyJSON

struct MarkReadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark-read",
        abstract: "Mark all events at or below a topic as read.",
        discussion: """
            Undecided and shown events are claimed, and their banners are closed. Muted and expired events keep their outcome. \
            Prints how many events were unread.

            Examples:
              notifyctl mark-read /post/27
              notifyctl mark-read / --up-to 1795231492321669
            """)

    @Argument(help: "A topic, such as /post/27; / means every topic.", completion: Completion.prefixes)
    var topic: String
    @Option(
        name: .customLong("up-to"), parsing: .unconditional,
        help: "Only events up to this id, or up to “last”. (default: all events)", completion: Completion.eventsAndLast,
        transform: EventArgument.parseLast(otherwise: "To mark every event, leave --up-to out."))
    var last: EventArgument?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try TopicFilter.requireSlash(topic)
        let client = try await bus.connect()
        let count =
            if let last {
                try await client.markRead(topic, upTo: try await last.find(client))
            } else {
                try await client.markRead(topic)
            }
        output.write(.object([("topic", .string(topic)), ("count", .integer(count))]), text: "\(count)")
    }
}
