import ArgumentParser
import NotifyClient

struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one event with all its fields and its outcome.",
        discussion: """
            Exit code 1 if there is no such event.

            Examples:
              notifyctl show 1795231492321669
              notifyctl show last --json=short | jq .fields
            """)

    @Argument(
        help: ArgumentHelp(
            "The id of the event, as “send”, “listen” and “history” print it, or “last”.", valueName: "id"),
        completion: Completion.eventsAndLast)
    var event: EventArgument

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingFailures {
            let client = try await bus.connect()
            let id = try await event.find(client)
            let explanation = try await client.explain(id)
            guard
                let record = try await client.history(
                    explanation.topic, after: EventID(rawValue: id.rawValue - 1), limit: 1
                ).first, record.event.id == id
            else { throw ExitCode.nothing }
            output.write(
                .object(record.members + explanation.members), text: text(of: record, explanation))
        }
    }

    private func text(of record: RecordedEvent, _ explanation: Explanation) -> String {
        let event = record.event
        var rows: [(String, Cell)] = [("Topic", Cell(event.topic, .bold))]
        if !event.title.isEmpty { rows.append(("Title", Cell(event.title))) }
        if !event.body.isEmpty { rows.append(("Body", Cell(event.body))) }
        for (name, value) in event.fields {
            rows.append((name, Cell(Text(value).text)))
        }
        let moment = Timestamp(explanation.published)
        let ago = Terminal.isInteractive ? Cell("  " + moment.text(seenAt: Timestamp.now), .dim) : Cell("")
        rows.append(("Published", Cell(moment.text) + ago))
        if let sender = explanation.sender { rows.append(("Sender", Cell(sender))) }
        if let source = explanation.source { rows.append(("Source", Cell(source))) }
        if let eventID = explanation.eventID { rows.append(("Event id", Cell(eventID))) }
        rows.append(("Route", Cell(explanation.route)))
        rows.append(("Outcome", explanation.outcome.cell))
        rows.append(("Why", Cell(explanation.reason)))
        // Not cut: this command shows the whole text.
        let lines = Columns.wrapped(
            rows.map { [Cell($0), $1] }, indentation: "  ", within: Terminal.size?.columns)
        return ([Terminal.bold("Event \(event.id)")] + lines).joined(separator: "\n")
    }
}

extension RecordedEvent {
    fileprivate var members: [(String, JSON)] {
        [
            ("id", .integer(event.id.rawValue)), ("topic", .string(event.topic)), ("title", .string(event.title)),
            ("body", .string(event.body)), ("fields", JSON(fields: event.fields)),
        ]
    }
}

extension Explanation {
    /// The explanation without id and topic.
    var members: [(String, JSON)] {
        var members: [(String, JSON)] = [
            ("route", .string(route)), ("key", .string(key)), ("published", .integer(published)),
            ("window", .milliseconds(window)), ("outcome", .string(outcome?.rawValue ?? "")),
            ("reason", .string(reason)),
            ("claims", .array(claims.map(\.json))),
        ]
        if let accepted { members.append(("accepted", .integer(accepted))) }
        if let opened { members.append(("opened", .integer(opened))) }
        if let deadline { members.append(("deadline", .integer(deadline))) }
        if let resolved { members.append(("resolved", .integer(resolved))) }
        if let banner { members.append(("banner", .integer(banner))) }
        if let count { members.append(("count", .integer(count))) }
        if let lateness { members.append(("lateness", .microseconds(lateness))) }
        if let delay { members.append(("delay", .string(delay.rawValue))) }
        if let action { members.append(("action", .string(action))) }
        if let sender { members.append(("sender", .string(sender))) }
        if let source { members.append(("source", .string(source))) }
        if let eventID { members.append(("event-id", .string(eventID))) }
        if isRead { members.append(("read", .bool(true))) }
        if isReplayed { members.append(("replayed", .bool(true))) }
        if isOfEarlierBoot { members.append(("earlier-boot", .bool(true))) }
        return members
    }
}

extension Explanation.Claim {
    fileprivate var json: JSON {
        .object(
            [
                ("by", .string(by)), ("after", after.map { .microseconds($0) } ?? .null), ("form", .string(form)),
                ("verdict", .string(verdict.rawValue)),
            ] + (program.map { [("program", .string($0))] } ?? []))
    }
}
