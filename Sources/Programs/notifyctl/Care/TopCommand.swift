import ArgumentParser
import Glibc
import NotifyClient
import NotifyText

struct TopCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "top", abstract: "Show open windows, screens, outcomes, rates and latencies, live.",
        discussion: """
            Shows the open windows with the time left to claim, the open screens, the last outcomes, the events, \
            claims and banners per second over the last ten seconds, and the latencies of claims. It changes nothing, \
            does not start notifyd, and continues when notifyd restarts. q or Ctrl-C ends it.

            With -n or --json, or if the output is not a terminal, it prints snapshots a second apart, one by default. \
            The first one has no rates.

            Examples:
              notifyctl top
              notifyctl top --json=short | jq .windows
              notifyctl top -n 60 --json=short | jq .rates.events
            """)

    @Option(
        name: .customShort("n", allowingJoined: true), parsing: .unconditional,
        help: "Print this many snapshots, a second apart, and exit.", transform: NumberArgument.parse(1 ... .max))
    var count: Int?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let feed = ActivityFeed(try await bus.connect(starting: false, reading: true))
        if count == nil, output.json == .off, FullScreen.isPossible {
            try await show(feed)
        } else {
            try await printSnapshots(of: feed, count: count ?? 1)
        }
    }

    // MARK: Snapshots

    private func printSnapshots(of feed: ActivityFeed, count: Int) async throws {
        // Without a daemon this is an error.
        try await feed.ask(isFirst: true)
        write(feed)
        guard count > 1 else { return }
        try await TerminationSignals.run {
            let feeding = Task { try await feed.run() }
            defer { feeding.cancel() }
            for _ in 1..<count {
                try await Task.sleep(for: .seconds(1))
                if output.json == .off { Terminal.print("") }
                write(feed)
            }
        }
    }

    private func write(_ feed: ActivityFeed) {
        let (activity, now) = feed.present
        output.write(
            activity.json(at: now),
            text: Frame(activity: activity, now: now).lines(width: Terminal.size?.columns).joined(separator: "\n"))
    }

    // MARK: Full screen

    /// The time between frames while windows count down.
    private static let pause = Duration.milliseconds(100)

    private func show(_ feed: ActivityFeed) async throws {
        try await TerminationSignals.run([SIGINT, SIGTERM, SIGHUP]) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await feed.run() }
                group.addTask { await draw(feed) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    private func draw(_ feed: ActivityFeed) async {
        await FullScreen.run(feed.changes) {
            $0.contains(UInt8(ascii: "q"))
        } draw: { width, height in
            let (activity, now) = feed.present
            return Frame(activity: activity, now: now)
                .lines(width: width, height: height, footer: Cell("q ends it", .dim))
        } pause: {
            let (activity, now) = feed.present
            if !activity.isCountingDown(at: now) { await feed.changes.wait() }
            try? await Task.sleep(for: Self.pause)
        }
    }
}

struct Frame {
    private struct Section {
        let title: String
        let rows: [[Cell]]
        let absence: String
    }

    private static let bar = 20

    let activity: Activity
    let now: Duration

    /// - Parameters:
    ///   - width: the most columns of a line; `nil`: no limit.
    ///   - height: the most lines; `nil`: no limit.
    ///   - footer: the last line, at the bottom.
    func lines(width: Int? = nil, height: Int? = nil, footer: Cell? = nil) -> [String] {
        var lines = header.map { $0.written(within: width).text }
        let sections = sections
        let room = height.map { $0 - lines.count - 2 * sections.count - (footer == nil ? 0 : 1) }
        for (section, share) in zip(sections, shares(of: sections, in: room)) {
            lines += ["", Cell(section.title, .bold).written(within: width).text]
            lines += self.lines(of: section, width: width, height: share)
        }
        guard let height else { return lines }
        guard let footer, height > 1 else { return Array(lines.prefix(height)) }
        let body = lines.prefix(height - 1)
        let space = [String](repeating: "", count: height - 1 - body.count)
        return body + space + [footer.written(within: width).text]
    }

    /// Distributes the lines: one for each section, then one more for each that needs it, in turn.
    private func shares(of sections: [Section], in room: Int?) -> [Int?] {
        guard let room else { return sections.map { _ in nil } }
        var shares = sections.map { _ in 1 }
        var rest = room - sections.count
        while rest > 0,
            let next = sections.indices.filter({ shares[$0] < sections[$0].rows.count })
                .min(by: { shares[$0] < shares[$1] })
        {
            shares[next] += 1
            rest -= 1
        }
        return shares
    }

    private func lines(of section: Section, width: Int?, height: Int?) -> [String] {
        let rows = section.rows
        if rows.isEmpty { return [Cell("  " + section.absence, .dim).written(within: width).text] }
        let room = height ?? rows.count
        // The title has the count, so a single line shows the first row.
        let isCut = rows.count > room && room > 1
        let shown = rows.prefix(isCut ? room - 1 : room)
        let lines = Columns.lines(Array(shown), indentation: "  ", within: width)
        return isCut
            ? lines + [Cell("  and \(rows.count - shown.count) more", .dim).written(within: width).text] : lines
    }

    // MARK: State of the daemon

    private var header: [Cell] {
        guard let properties = activity.health?.properties else {
            return [
                activity.isAsked ? Cell("notifyd is not running; waiting for it", .red) : Cell("asking notifyd", .dim)
            ]
        }
        let gap = Cell("   ")
        let (statistics, quiet, degradation) = (properties.statistics, properties.quiet, properties.text("Degraded"))
        let server =
            switch (statistics["notification-server"], statistics["notification-server-rests"]) {
            case (0, _): Cell("no notification server", .red)
            case (_, 1): Cell("notification server rests", .red)
            default: Cell("notification server there")
            }
        let first =
            Cell("notifyd \(properties.text("Version"))", .bold) + gap
            + (properties.flag("Paused")
                ? Cell("banners \(quiet.pause?.words() ?? "paused")", .yellow)
                : quiet.desktop == nil ? Cell("banners on") : Cell("the desktop's do not disturb", .yellow))
            + gap + server + gap + Cell("\(properties.number("Pending") as UInt32) undecided")
        let degraded = degradation.isEmpty ? [] : [Cell("degraded: " + degradation, .red)]
        let mutes = quiet.mutes().map { [Cell("muted: " + $0, .yellow)] } ?? []
        return [first] + degraded + mutes + [rates, latency]
    }

    private var rates: Cell {
        guard let rates = activity.rates else { return Cell("each second: –", .dim) }
        return Cell(
            "each second: \(rates.events.fixed(1)) events, \(rates.claimed.fixed(1)) claimed, "
                + "\(rates.banners.fixed(1)) banners")
    }

    private var latency: Cell {
        activity.latencies.line.map { Cell("claims: \($0)") } ?? Cell("claims: none yet", .dim)
    }

    // MARK: Sections

    private var sections: [Section] {
        let windows = activity.windows(at: now)
        let screens = activity.health?.screens ?? []
        return [
            Section(title: title(of: windows), rows: windows.map(row), absence: "none"),
            Section(
                title: "Screens (\(screens.count))", rows: screens.map { $0.cells(activity.health?.programs ?? [:]) },
                absence: "none"),
            Section(title: "Recent outcomes", rows: activity.decisions.map(row), absence: "none yet"),
        ]
    }

    private func title(of windows: [Activity.Window]) -> String {
        let waiting = windows.count { $0.isWaiting }
        return "Open windows (\(windows.count - waiting))" + (waiting > 0 ? ", over and undecided (\(waiting))" : "")
    }

    private func row(_ window: Activity.Window) -> [Cell] {
        let left = window.left(at: now)
        let events = Cell(window.events.count == 1 ? "1 event" : "\(window.events.count) events")
        let time = window.isWaiting ? Cell.number("waits", .yellow) : .number("\(left.microseconds / 1000) ms")
        return [.topic(window.topic), time, Cell(bar(left, of: window.length), .dim), events]
    }

    /// ASCII, because the width of other characters differs between terminals.
    private func bar(_ left: Duration, of length: Duration) -> String {
        let part = length > .zero ? min(1, left / length) : 0
        let filled = Int((part * Double(Self.bar)).rounded(.up))
        return "[" + String(repeating: "=", count: filled) + String(repeating: " ", count: Self.bar - filled) + "]"
    }

    private func row(_ decision: Activity.Decision) -> [Cell] {
        let outcome = decision.outcome
        // The words of the outcome without the first, which has its own column.
        return [
            .number(Timestamp.ago(now - decision.time), .dim), .id("\(outcome.id)"), outcome.kind.cell,
            .topic(outcome.topic), Cell(outcome.details().joined(separator: " ")),
        ]
    }
}
