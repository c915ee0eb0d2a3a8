import ArgumentParser
import NotifyClient
import NotifyJSON

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show the current values of topics, and then every change.",
        discussion: """
            Prints the current values as added (+), and then every value that is added, modified (~) or removed (-). It \
            continues over restarts of the daemon. “send --retain”, or a route that retains, publishes a value; “send \
            --remove” removes it.

            Ends with 0 on Ctrl-C, on SIGTERM, or after -n lines; with 1 if --timeout comes first.

            Examples:
              notifyctl watch /run/r1/mate
              notifyctl watch / --json=short | jq -r '.change + " " + .topic'
            """)

    @Argument(
        help: "A topic, such as /run/r1, and everything below it; / means every topic.",
        completion: Completion.prefixes)
    var topic: String

    @Option(
        name: .customShort("n", allowingJoined: true), parsing: .unconditional, help: "Stop after this many lines.",
        transform: NumberArgument.parse(1 ... .max))
    var count: Int?
    @Option(parsing: .unconditional, help: "Stop after this long.", transform: DurationArgument.parse)
    var timeout: DurationArgument?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let client = try await bus.connect(reading: true)
        let changes = try await client.watch(topic)
        if try await !client.isDaemonRunning() { Terminal.complain("notifyd is not running yet; waiting for it.") }
        let listing = Listing()
        let (isComplete, isInterrupted) = try await TerminationSignals.run(within: timeout?.duration) {
            try await withOrderedOutput(BannerTexts(client)) { (change: Change, text) in
                output.write(change.json(text), text: listing.line(change.cells(text), elsewhere: change.line(text)))
            } _: { lines in
                var seen = 0
                for try await change in changes {
                    let isAsked = change.kind != .removed && change.value.needsText
                    await lines.put(change, textOf: isAsked ? change.value.id : nil)
                    seen += 1
                    if seen == count { return true }
                }
                return false
            }
        }
        if isComplete != true, !isInterrupted { throw ExitCode.nothing }
    }
}

extension Change {
    /// For a line on a terminal: what happened, then the value.
    ///
    /// - Parameter text: what the banner of the value says, if it has no title.
    fileprivate func cells(_ text: BannerText?) -> [Cell] {
        let now = Timestamp.now
        let value = value.cells(time: { $0.clock(seenAt: now) }, outcome: nil, text: text)
        return switch kind {
        case .added: [Cell("+", .green)] + value
        case .modified: [Cell("~")] + value
        case .removed: [Cell("-", .red)] + value.dropLast()
        default: [Cell(kind.rawValue)] + value
        }
    }

    fileprivate func line(_ text: BannerText?) -> String {
        switch kind {
        case .added: Terminal.green("+ ") + value.line(text: text)
        case .modified: "~ " + value.line(text: text)
        case .removed: Terminal.red("- ") + "\(value.id)  " + Terminal.bold(Terminal.plain(topic))
        default: Terminal.plain(kind.rawValue) + "  " + value.line(text: text)
        }
    }

    fileprivate func json(_ text: BannerText?) -> JSON {
        .object([("change", .string(kind.rawValue))] + value.members(text: text))
    }
}
