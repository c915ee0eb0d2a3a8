import ArgumentParser
import NotifyClient

struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List recorded events and their outcomes.",
        discussion: """
            Lists the last 50 events, the newest at the end. With --after it lists the first events after an id, so that a \
            script can continue where it stopped. With --unread it lists undecided, shown, muted and expired events that are \
            not marked as read.

            Exit code 1 if there is none.

            Examples:
              notifyctl history /post -n 10
              notifyctl history --unread
              notifyctl history --after 1795231492321669 -n 0 --json=short
            """)

    @Argument(
        help: "A topic, such as /post/27, and everything below it; / means every topic.",
        completion: Completion.prefixes)
    var topic = "/"

    @Option(help: "Begin after the event with this id.", completion: Completion.events) var after: UInt64?
    @Option(name: .customShort("n", allowingJoined: true), help: "The most events to list; 0 means all.") var count = 50
    @Flag(help: "Only unread events.") var unread = false

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if count < 0 { throw ValidationError("-n takes a number of at least 0.") }
    }

    func run() async throws {
        let history = HistoryReader(client: try await bus.connect(), topic: topic, isUnread: unread)
        let limit = count == 0 ? Int.max : count
        let records =
            if let after {
                try await history.first(limit, after: EventID(rawValue: after))
            } else {
                try await history.last(limit)
            }
        if output.json == .off, Terminal.isInteractive {
            let now = Timestamp.now
            for line in Columns.stackedLines(records.map { $0.cells(at: now) }, within: Terminal.size?.columns) {
                Terminal.print(line)
            }
        } else {
            for record in records { output.write(record.json, text: record.line) }
        }
        if records.isEmpty { throw ExitCode.nothing }
    }
}

extension RecordedEvent {
    var isUnread: Bool {
        switch outcome {
        case nil, .shown?, .muted?, .expired?: true
        default: false
        }
    }

    fileprivate func cells(at now: Int64) -> [Cell] {
        event.cells(time: { $0.text(seenAt: now) }, outcome: outcome.cell)
    }

    var line: String {
        let time = event.published.map { Terminal.dim(Timestamp($0).text) + "  " } ?? ""
        return time + event.line() + "  → " + Terminal.plain(outcome?.rawValue ?? "undecided")
    }

    var json: JSON {
        .object(event.members() + [("outcome", .string(outcome?.rawValue ?? ""))])
    }
}
