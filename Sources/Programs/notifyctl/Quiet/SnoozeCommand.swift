import ArgumentParser
import NotifyClient
import NotifyJSON

struct SnoozeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snooze", abstract: "Let the banner of an event, or the banners of a topic, come back later.",
        discussion: """
            The banner is closed now. It comes back at its time unless the event is claimed or read before. With a topic, the \
            newest 100 unread events at or below it that were shown are snoozed. Prints the ids.

            Examples:
              notifyctl snooze last 10m
              notifyctl snooze 1795231492321669 1d
              notifyctl snooze /post until 18:30
            """)

    /// Events of a topic that are snoozed at once.
    private static let events = 100
    private static let denied = "org.notifyd.Router1.Error.AccessDenied"

    @Argument(
        help: ArgumentHelp(
            "The id of an event that was shown or muted, “last”, or a topic such as /post/27.", valueName: "id-or-topic"
        ),
        completion: Completion.prefixesAndEvents, transform: Target.parse)
    var target: Target
    @Argument(
        help: "How long, from 1m to 7d, or until when, such as “until 9:00”.",
        completion: .list(["10m", "1h", "8h", "1d"]),
        transform: DurationArgument.parseEnd(.seconds(60)...(.seconds(7 * 24 * 3600))))
    var duration: DurationArgument

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    enum Target: Sendable {
        case event(EventArgument)
        case topic(String)

        static func parse(_ text: String) throws -> Target {
            if text.hasPrefix("/") { return .topic(text) }
            if text == "last" || UInt64(text) != nil { return .event(try EventArgument.parse(text)) }
            throw ValidationError("“\(text)” is neither the id of an event, nor “last”, nor a topic such as /post/27.")
        }
    }

    func run() async throws {
        let client = try await bus.connect()
        switch target {
        case .event(let event): try await snooze(try await event.find(client), client)
        case .topic(let topic):
            let shown = try await client.inbox(topic, limit: Self.events).filter { $0.outcome == .shown }
            guard !shown.isEmpty else {
                Terminal.complain("No unread event at or below \(Terminal.plain(topic)) was shown.")
                throw ExitCode.nothing
            }
            var denial: NotifyError?
            for entry in shown {
                do {
                    try await snooze(entry.id, client)
                } catch let error as NotifyError where error.name == Self.denied {
                    denial = error
                }
            }
            // The others are snoozed all the same.
            if let denial { throw denial }
        }
        await complainIfNotStored(client)
    }

    private func snooze(_ id: EventID, _ client: NotifyClient) async throws {
        try await client.snooze(id, for: duration.duration)
        output.write(["id": id.rawValue, "milliseconds": JSON.milliseconds(duration.duration)], text: "\(id)")
    }
}
