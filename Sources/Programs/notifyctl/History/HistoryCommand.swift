import ArgumentParser
import NotifyClient
import NotifyJSON

struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List recorded events and their outcomes.",
        discussion: """
            Lists the last 50 events, the newest at the end. With --after it lists the first events after an id, so that a \
            script can continue where it stopped. With --unread it lists undecided, shown, muted and expired events that are \
            not marked as read.

            With --export it writes all of them, the oldest first, as JSON with one event a line.

            Exit code 1 if there is none.

            Examples:
              notifyctl history /post -n 10
              notifyctl history --unread
              notifyctl history --after 1795231492321669 -n 0 --json=short
              notifyctl history --export | gzip -c
            """)

    @Argument(
        help: "A topic, such as /post/27, and everything below it; / means every topic.",
        completion: Completion.prefixes)
    var topic = "/"

    @Option(
        parsing: .unconditional, help: "Begin after the event with this id.", completion: Completion.events,
        transform: NumberArgument.eventID)
    var after: UInt64?
    @Option(
        name: .customShort("n", allowingJoined: true), parsing: .unconditional,
        help: "The most events to list; 0 means all. (default: 50)", transform: NumberArgument.parse(0 ... .max))
    var count: Int?
    @Flag(help: "Only unread events.") var unread = false
    @Flag(help: "Write all events as JSON, one a line.") var export = false

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if export, count != nil || output.style != nil || output.isJSON {
            throw ValidationError("--export writes all events, as JSON with one a line: leave out -n, -j and --json.")
        }
    }

    func run() async throws {
        try TopicFilter.requireSlash(topic)
        let history = HistoryReader(client: try await bus.connect(reading: true), topic: topic, isUnread: unread)
        if export { return try await write(history) }
        let limit = count == 0 ? Int.max : count ?? 50
        let records =
            if let after {
                try await history.first(limit, after: EventID(rawValue: after))
            } else {
                try await history.last(limit)
            }
        let texts = await BannerTexts(history.client).texts(of: records)
        if output.json == .off, Terminal.isInteractive {
            let now = Timestamp.now
            let rows = records.map { $0.cells(at: now, texts[$0.event.id]) }
            for line in Columns.stackedLines(rows, within: Terminal.size?.columns) {
                Terminal.print(line)
            }
        } else {
            let origins = output.json != .off ? await EventOrigins(history.client).origins(of: records) : [:]
            for var record in records {
                let text = texts[record.event.id]
                if let origin = origins[record.event.id] { record.event.add(origin) }
                output.write(record.json(text), text: record.line(text))
            }
        }
        if records.isEmpty { throw ExitCode.nothing }
    }
}

extension HistoryCommand {
    /// Writes page by page: there may be more than fits into memory.
    private func write(_ history: HistoryReader) async throws {
        var isEmpty = true
        try await history.forEachPage(after: EventID(rawValue: after ?? 0)) { page in
            for record in page { Terminal.print(record.json(nil).text(pretty: false)) }
            if !page.isEmpty { isEmpty = false }
        }
        if isEmpty { throw ExitCode.nothing }
    }
}

extension RecordedEvent {
    var isUnread: Bool {
        switch outcome {
        case nil, .shown?, .muted?, .expired?: true
        default: false
        }
    }

    fileprivate func cells(at now: Int64, _ text: BannerText?) -> [Cell] {
        event.cells(time: { $0.text(seenAt: now) }, outcome: outcome.cell, text: text)
    }

    /// - Parameter text: what its banner says, if it has no title.
    func line(_ text: BannerText?) -> String {
        let time = event.published.map { Terminal.dim(Timestamp($0).text) + "  " } ?? ""
        return time + event.line(text: text) + "  → " + Terminal.plain(outcome?.rawValue ?? "undecided")
    }

    fileprivate func json(_ text: BannerText?) -> JSON {
        .object(event.members(text: text) + [("outcome", .string(outcome?.rawValue ?? ""))])
    }
}
