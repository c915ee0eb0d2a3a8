import ArgumentParser
import Glibc
import NotifyClient

struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Watch what goes on: windows counting down, screens, outcomes, rates and latencies.",
        discussion: """
            Shows the open windows with the time that is left to claim, the open screens, the last outcomes, how many \
            events come, are claimed and become banners each second, over the last ten seconds, and how long claims take. \
            It changes and starts nothing, and goes on over restarts of notifyd. q or Ctrl-C ends it.

            With -n or --json, or where the output is no terminal, it prints that many pictures, one by default, a second \
            apart. Rates need two looks, so the first has none.

            Examples:
              notifyctl top
              notifyctl top --json=short | jq .windows
              notifyctl top -n 60 --json=short | jq .rates.events
            """)

    @Option(name: .customShort("n", allowingJoined: true), help: "Print this many pictures, a second apart, and exit.")
    var count: Int?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try requireOneOrMore(count)
    }

    func run() async throws {
        try await reportingFailures {
            let feed = ActivityFeed(try await bus.connect())
            if count == nil, output.json == .off, FullScreen.isPossible {
                try await show(feed)
            } else {
                try await printPictures(of: feed, count: count ?? 1)
            }
        }
    }

    // MARK: Pictures one after the other

    private func printPictures(of feed: ActivityFeed, count: Int) async throws {
        // That there is no daemon is worth an error here.
        try await feed.ask(isFirst: true)
        write(feed)
        guard count > 1 else { return }
        let (printing, interruption) = Interruption.cancelling {
            let feeding = Task { try await feed.run() }
            defer { feeding.cancel() }
            for _ in 1..<count {
                try await Task.sleep(for: .seconds(1))
                if output.json == .off { Terminal.print("") }
                write(feed)
            }
        }
        do {
            try await printing.value
        } catch is CancellationError where interruption.hasCome {}
    }

    private func write(_ feed: ActivityFeed) {
        let (activity, now) = feed.present
        output.write(
            activity.json(at: now),
            text: Frame(activity: activity, now: now).lines(width: Terminal.size?.columns).joined(separator: "\n"))
    }

    // MARK: On the whole terminal

    /// The pause between pictures while something moves.
    private static let pause = Duration.milliseconds(100)

    private func show(_ feed: ActivityFeed) async throws {
        let (showing, interruption) = Interruption.cancelling([SIGINT, SIGTERM, SIGHUP]) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await feed.run() }
                group.addTask { await draw(feed) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
        do {
            try await showing.value
        } catch let error as NotifyError where error.code == .cancelled && interruption.hasCome {}
    }

    private func draw(_ feed: ActivityFeed) async {
        let isEnded = Guarded(false)
        let screen = FullScreen(
            onChange: { feed.ring() },
            onKey: { key in
                guard key == UInt8(ascii: "q") else { return }
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
