import ArgumentParser
import NotifyClient
import NotifyText

struct ClaimCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "claim", abstract: "Claim an event, so that it gets no banner.",
        discussion: """
            Prints the verdict: suppressed (in time), retracted (the banner was shown and is now closed) or \
            recorded (there was nothing to suppress, or other events keep the banner open).

            Examples:
              notifyctl claim 1795231492321669
              notifyctl claim last
            """)

    @OptionGroup var event: EventOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let client = try await bus.connect()
        let id = try await event.event.find(client)
        let verdict = try await client.claim(id)
        output.write(["id": id.rawValue, "verdict": verdict.rawValue], text: Terminal.plain(verdict.rawValue))
    }
}

struct ClaimTopicCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "claim-topic", abstract: "Claim all undecided or shown events at or below a topic.",
        discussion: """
            Prints how many events were claimed. With --grace new events are claimed too, even after notifyctl has \
            ended. Exit code 1 if there was none, and no --grace.

            Examples:
              notifyctl claim-topic /post/27 --grace 2s && xdg-open https://example.org
            """)

    @Argument(help: "A topic, such as /post/27.", completion: Completion.prefixes) var topic: String
    @Option(
        parsing: .unconditional,
        help: "Go on claiming for this long, in whole milliseconds; at most 10s. (default: 0s)",
        transform: DurationArgument.parse(.zero ... .seconds(10), in: .milliseconds(1)))
    var grace = Duration.zero

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try TopicFilter.requireSlash(topic)
        let count = try await bus.connect().claimTopic(topic, grace: grace)
        output.write(["topic": topic, "count": count], text: "\(count)")
        if count == 0, grace == .zero { throw ExitCode.nothing }
    }
}

struct WithdrawCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "withdraw", abstract: "Take back an event that no longer matters.",
        discussion: """
            An undecided event gets no banner. A banner that shows it is closed, or updated if it shows other events \
            too. A muted or expired event counts as read; any other decided event keeps its outcome.

            Examples:
              notifyctl withdraw 1795231492321669
              notifyctl withdraw last
            """)

    @OptionGroup var event: EventOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let client = try await bus.connect()
        let id = try await event.event.find(client)
        try await client.withdraw(id)
        if output.json != .off { output.write(["id": id.rawValue], text: "") }
    }
}

struct MarkReadCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark-read", abstract: "Mark all events at or below a topic as read.",
        discussion: """
            Undecided and shown events are claimed, and their banners are closed. Muted and expired events keep their \
            outcome. Prints how many events were unread.

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

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try TopicFilter.requireSlash(topic)
        let client = try await bus.connect()
        let count =
            if let last {
                try await client.markRead(topic, upTo: try await last.find(client))
            } else {
                try await client.markRead(topic)
            }
        output.write(["topic": topic, "count": count], text: "\(count)")
    }
}
