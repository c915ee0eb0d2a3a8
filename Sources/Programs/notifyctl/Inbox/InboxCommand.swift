import ArgumentParser
import Glibc
import NotifyClient
import NotifyJSON

struct InboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox",
        abstract: "Show what nobody has seen, live.",
        discussion: """
            Shows the unread events grouped by topic, the newest first, with the text of their banners. It follows what \
            happens elsewhere, and continues when notifyd restarts. Keys mark events as read, claim them, mute topics and \
            press buttons; ? lists them, and q ends it.

            With -n or --json, or if the output is not a terminal, it prints a list. Exit code 1 if there is none.

            With --follow it prints a line for a status bar, and another one after each change: the number of unread events, \
            the newest of them, and whether banners are held back. It waits for notifyd and does not start it.

            Examples:
              notifyctl inbox
              notifyctl inbox --follow waybar
              notifyctl inbox /run --json=short | jq -r '.[].title'
            """)

    @Argument(
        help: "A topic, such as /post/27, and everything below it; / means every topic.",
        completion: Completion.prefixes)
    var topic = "/"

    @Option(
        name: .customShort("n", allowingJoined: true), parsing: .unconditional,
        help: "Print a list of at most this many events; 0 means all.", transform: NumberArgument.parse(0 ... .max))
    var count: Int?

    @Option(help: "Print lines for a status bar: json, waybar, polybar or i3status (i3status-rust).")
    var follow: StatusBar?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if follow != nil, count != nil || output.json != .off {
            throw ValidationError("--follow prints lines in its own form: leave out -n and --json.")
        }
    }

    func run() async throws {
        try TopicFilter.requireSlash(topic)
        if let follow { return try await self.follow(follow) }
        let client = try await bus.connect(reading: true)
        guard count == nil, output.json == .off, FullScreen.isPossible else { return try await list(client) }
        // Errors such as a wrong topic are told without a screen.
        _ = try await client.inbox(topic, limit: 1)
        let view = InboxView(client, topic, address: address)
        try await TerminationSignals.run([SIGINT, SIGTERM, SIGHUP]) { try await view.run() }
    }

    private var address: String { bus.address ?? NotifyClient.sessionBusAddress ?? "" }

    private func follow(_ bar: StatusBar) async throws {
        let client = try await NotifyClient(address: bus.address)
        let follower = InboxFollower(client, topic, address: address)
        let last = Locked<String?>(nil)
        try await TerminationSignals.run {
            try await follower.run { status in
                let line = bar.line(status, at: Timestamp.now)
                last.withLock { last in
                    if line != last { Terminal.print(line) }
                    last = line
                }
            }
        }
    }

    // MARK: List

    private static let pageSize = 500

    /// Writes page by page: there may be more than fits into memory.
    private func list(_ client: NotifyClient) async throws {
        var writer = JSONArrayWriter(isPretty: output.json == .pretty)
        var left = count == 0 ? Int.max : count ?? .max
        var last: EventID?
        while left > 0 {
            let page = try await page(client, before: last, limit: min(left, Self.pageSize))
            if page.isEmpty { break }
            last = page[page.count - 1].id
            left -= page.count
            write(page, &writer)
        }
        try end(writer, isEmpty: last == nil)
    }

    // Swift 6.3 crashes on an optimized build if all of this is one function.
    @inline(never)
    private func page(_ client: NotifyClient, before last: EventID?, limit: Int) async throws -> [InboxEntry] {
        try await client.inbox(topic, before: last, limit: limit)
    }

    @inline(never)
    private func end(_ writer: JSONArrayWriter, isEmpty: Bool) throws {
        if output.json != .off { writer.end() }
        if isEmpty { throw ExitCode.nothing }
    }

    private func write(_ page: [InboxEntry], _ writer: inout JSONArrayWriter) {
        guard output.json == .off else {
            for entry in page { writer.write(entry.json) }
            return
        }
        guard Terminal.isInteractive else {
            for entry in page { Terminal.print(entry.line) }
            return
        }
        let now = Timestamp.now
        for line in Columns.stackedLines(page.map { $0.cells(at: now) }, within: Terminal.size?.columns) {
            Terminal.print(line)
        }
    }
}

extension InboxEntry {
    /// As an event, for the same lines as those of `history`.
    private var event: Event {
        Event(id: id, topic: topic, title: text.title, body: text.body, published: published)
    }

    func cells(at now: Int64) -> [Cell] { event.cells(time: { $0.text(seenAt: now) }, outcome: outcome.cell) }

    var line: String { RecordedEvent(event: event, outcome: outcome).line(nil) }

    var json: JSON {
        .object(
            JSON.present([
                ("id", .integer(id.rawValue)), ("topic", .string(topic)), ("title", .string(text.title)),
                ("body", .string(text.body)), ("published", .integer(published)),
                ("outcome", .string(outcome?.rawValue ?? "")), ("app", appearance.app.map(JSON.string)),
                ("icon", appearance.icon.map(JSON.string)), ("urgency", urgency.map { .string("\($0)") }),
                ("actions", .array(appearance.buttons.map(\.json))),
                ("snoozed", snoozeEnd.map { .integer($0) }),
            ]))
    }
}

extension BannerOptions.Button {
    fileprivate var json: JSON { .object([("key", .string(key)), ("label", .string(label))]) }
}
