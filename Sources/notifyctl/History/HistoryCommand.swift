import ArgumentParser
import NotifyClient

struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List what was published, and what became of it.",
        discussion: """
            Lists the last 50 events, the newest at the end; with --after the first ones after an event, so that a script \
            can go on where it stopped. With --unread only what nobody has seen to: undecided, shown, muted and expired.

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
    @Option(name: .customShort("n", allowingJoined: true), help: "How many at most; 0 means all.") var count = 50
    @Flag(help: "Only what nobody has seen to.") var unread = false

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if count < 0 { throw ValidationError("-n takes a number from 0 upwards.") }
    }

    func run() async throws {
        try await reportingFailures {
            let archive = Archive(client: try await bus.connect(), topic: topic, isUnread: unread)
            let limit = count == 0 ? Int.max : count
            let records =
                if let after {
                    try await archive.first(limit, after: EventID(rawValue: after))
                } else {
                    try await archive.last(limit)
                }
            if output.json == .off, Terminal.isInteractive {
                let now = Moment.now
                for line in Columns.stackedLines(records.map { $0.cells(at: now) }, within: Terminal.size?.columns) {
                    Terminal.print(line)
                }
            } else {
                for record in records { output.write(record.json, text: record.line) }
            }
            if records.isEmpty { throw ExitCode.nothing }
        }
    }
}

extension RecordedEvent {
    /// Whether nobody has seen to it, as far as its outcome says.
    var isUnread: Bool {
        switch outcome {
        case nil, .shown?, .muted?, .expired?: true
        default: false
        }
    }

    /// For a line on a terminal.
    fileprivate func cells(at now: Int64) -> [Cell] {
        event.cells(time: { $0.text(seenAt: now) }, outcome: outcome.cell)
    }

    /// One line for programs, and for people who read a file.
    var line: String {
        let time = event.published.map { Terminal.dim(Moment($0).text) + "  " } ?? ""
        return time + event.line(verdict: nil) + "  → " + Terminal.plain(outcome?.rawValue ?? "undecided")
    }

    var json: JSON {
        guard case .object(let members) = event.json(verdict: nil) else { return .null }
        return .object(members + [("outcome", .string(outcome?.rawValue ?? ""))])
    }
}
