import ArgumentParser
import NotifyClient

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
        help: "Only events up to this id. (default: all events)", completion: Completion.events,
        transform: NumberArgument.eventID)
    var last: UInt64?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let count = try await bus.connect().markRead(topic, upTo: EventID(rawValue: last ?? 0))
        output.write(.object([("topic", .string(topic)), ("count", .integer(count))]), text: "\(count)")
    }
}
