import ArgumentParser
import Glibc
import NotifyClient
import NotifyText

struct InboxCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox", abstract: "Show what nobody has seen, live.",
        discussion: """
            Shows the unread events grouped by topic, the newest first, with the text of their banners. It follows \
            what happens elsewhere, and continues when notifyd restarts. Keys mark events as read, claim them, mute \
            topics and press buttons; ? lists them, and q ends it.

            With -n or --json, or if the output is not a terminal, it prints a list. Exit code 1 if there is none.

            With --follow it prints a line for a status bar, and another one after each change: the number of unread \
            events, the newest of them, and whether banners are held back. It waits for notifyd and does not start it.

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

    @OptionGroup var common: CommonOptions

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
        var event = Event(id: id, topic: topic)
        (event.title, event.body, event.published) = (text.title, text.body, published)
        return event
    }

    func cells(at now: Int64) -> [Cell] { event.cells(time: { $0.text(seenAt: now) }, outcome: outcome.cell) }

    var line: String { RecordedEvent(event: event, outcome: outcome).line(nil) }

    var json: JSON {
        JSON.object(present: [
            "id": id.rawValue, "topic": topic, "title": text.title, "body": text.body, "published": published,
            "outcome": outcome?.rawValue ?? "", "app": appearance.app, "icon": appearance.icon,
            "urgency": urgency.map { "\($0)" }, "actions": appearance.buttons.map(\.json),
            "snoozed": snoozeEnd,
        ])
    }
}

extension BannerOptions.Button {
    fileprivate var json: JSON { ["key": key, "label": label] }
}

/// The inbox in short, for a status bar.
struct InboxStatus: Hashable, Sendable {
    /// How many of the newest events it has.
    static let named = 5

    /// Whether notifyd is there.
    var isRunning = false
    /// Why notifyd accepts nothing now; empty if it does.
    var degradation = ""
    var unread = 0
    /// The newest first, at most ``named``.
    var newest: [InboxEntry] = []
    /// What holds banners of the topic back for the longest time; `nil` if nothing.
    var quiet: Quiet?

    /// - Parameter quiet: everything that holds banners back.
    static func quiet(_ quiet: [Quiet], at topic: String) -> Quiet? {
        quiet.filter { $0.covers(topic) }.max { ($0.until ?? .max) < ($1.until ?? .max) }
    }

    /// Whether pushes are not seen, or not even accepted, until somebody does something.
    var isInTrouble: Bool { !isRunning || !degradation.isEmpty }

    var isUrgent: Bool { newest.contains { $0.urgency == .critical } }
}

/// A program that shows an ``InboxStatus``, and the lines that it reads: see waybar-custom(5), the module custom/script
/// of polybar, and the block custom of i3status-rust.
enum StatusBar: String, ExpressibleByArgument, CaseIterable, Sendable {
    case json, waybar, polybar, i3status

    private static let longestText = 60

    func line(_ status: InboxStatus, at now: Int64) -> String {
        switch self {
        case .json: status.json.text(pretty: false)
        case .waybar: waybar(status, now).text(pretty: false)
        case .polybar: polybar(status, now)
        case .i3status: i3status(status, now).text(pretty: false)
        }
    }

    private func waybar(_ status: InboxStatus, _ now: Int64) -> JSON {
        let alternative =
            !status.isRunning ? "absent" : status.quiet != nil ? "quiet" : status.unread > 0 ? "unread" : "none"
        let state =
            !status.isRunning
            ? ["absent"]
            : [status.unread > 0 ? "unread" : "none"] + (status.quiet != nil ? ["quiet"] : [])
                + (status.isUrgent ? ["critical"] : [])
        let classes = state + (status.isInTrouble ? ["trouble"] : [])
        return [
            "text": status.isRunning ? "\(status.unread)" : "", "alt": alternative, "tooltip": tooltip(status, now),
            "class": classes, "percentage": min(status.unread, 100),
        ]
    }

    /// In Pango's markup.
    private func tooltip(_ status: InboxStatus, _ now: Int64) -> String {
        guard status.isRunning else { return "notifyd is not running" }
        let events = status.newest.map { entry in
            let body = entry.text.body.isEmpty ? "" : " " + Self.short(entry.text.body).markup
            return "<b>" + Self.short(entry.text.title).markup + "</b>" + body
        }
        let rest = status.unread - events.count
        return
            (["\(status.unread) unread"] + (status.degradation.isEmpty ? [] : [Self.trouble(status).markup])
            + (status.quiet.map { [Self.words($0, now).markup] } ?? []) + events
            + (rest > 0 && !events.isEmpty ? ["and \(rest) more"] : [])).joined(separator: "\n")
    }

    /// An empty line hides the module.
    private func polybar(_ status: InboxStatus, _ now: Int64) -> String {
        // There, %{ begins a formatting tag, and nothing escapes it.
        text(status, now).replacing("%{", with: "% {")
    }

    private func text(_ status: InboxStatus, _ now: Int64) -> String {
        guard status.isRunning else { return "(absent)" }
        let parts =
            (status.unread > 0 ? ["\(status.unread)"] : []) + (status.quiet.map { ["(\(Self.words($0, now)))"] } ?? [])
        // Without a sign between them, a title such as “4 events” would run into the number.
        let title = status.newest.first.map { [Self.short($0.text.title)] } ?? []
        let state = (status.degradation.isEmpty ? [] : ["(in trouble)"]) + parts
        return ([state.joined(separator: " ")] + title).filter { !$0.isEmpty }.joined(separator: " · ")
    }

    /// In Pango's markup. An empty text hides the block if it has `hide_when_empty`.
    private func i3status(_ status: InboxStatus, _ now: Int64) -> JSON {
        let state =
            !status.degradation.isEmpty
            ? "Critical" : !status.isRunning || status.unread == 0 ? "Idle" : status.isUrgent ? "Warning" : "Info"
        return [
            "icon": status.quiet == nil ? "bell" : "bell-slash", "state": state, "text": text(status, now).markup,
            "short_text": status.unread > 0 ? "\(status.unread)" : "",
        ]
    }

    private static func trouble(_ status: InboxStatus) -> String {
        "notifyd accepts nothing, because \(line(status.degradation))"
    }

    private static func words(_ quiet: Quiet, _ now: Int64) -> String { "quiet" + quiet.end(at: now) }

    /// One line that is not too long.
    private static func short(_ text: String) -> String { line(text).truncated(to: longestText) }

    private static func line(_ text: String) -> String {
        Terminal.plain(text.flat)
    }
}

extension InboxStatus {
    fileprivate var json: JSON {
        [
            "running": isRunning, "unread": unread, "newest": newest.first?.json, "quiet": quiet != nil,
            "until": quiet?.until, "trouble": isInTrouble,
        ]
    }
}

extension String {
    /// The text on one line.
    var flat: String { split { $0.isNewline || $0 == "\t" }.joined(separator: " ") }

    /// The text in Pango's markup.
    fileprivate var markup: String {
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars where !scalar.isForInternalUse {
            switch scalar {
            case "&": result.append(contentsOf: "&amp;".unicodeScalars)
            case "<": result.append(contentsOf: "&lt;".unicodeScalars)
            case ">": result.append(contentsOf: "&gt;".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
