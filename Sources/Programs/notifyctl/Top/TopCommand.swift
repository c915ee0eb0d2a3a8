import ArgumentParser
import Glibc
import NotifyClient
import NotifyJSON

struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show open windows, screens, outcomes, rates and latencies, live.",
        discussion: """
            Shows the open windows with the time left to claim, the open screens, the last outcomes, the events, claims and \
            banners per second over the last ten seconds, and the latencies of claims. It changes nothing, does not start \
            notifyd, and continues when notifyd restarts. q or Ctrl-C ends it.

            With -n or --json, or if the output is not a terminal, it prints snapshots a second apart, one by default. The \
            first one has no rates.

            Examples:
              notifyctl top
              notifyctl top --json=short | jq .windows
              notifyctl top -n 60 --json=short | jq .rates.events
            """)

    @Option(
        name: .customShort("n", allowingJoined: true), parsing: .unconditional,
        help: "Print this many snapshots, a second apart, and exit.", transform: NumberArgument.parse(1 ... .max))
    var count: Int?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

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
        let isEnded = Locked(false)
        let screen = FullScreen(
            onChange: { feed.ring() },
            onInput: { bytes in
                guard bytes.contains(UInt8(ascii: "q")) else { return }
                isEnded.withLock { $0 = true }
                feed.ring()
            })
        defer { screen.leave() }
        while !Task.isCancelled, !isEnded.withLock({ $0 }) {
            let (activity, now) = feed.present
            let size = Terminal.size ?? (80, 24)
            screen.draw(
                Frame(activity: activity, now: now).lines(
                    width: size.columns, height: size.rows, footer: Cell("q ends it", .dim)))
            if !activity.isCountingDown(at: now) { await feed.news() }
            try? await Task.sleep(for: Self.pause)
        }
    }
}
