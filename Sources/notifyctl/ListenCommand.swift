import ArgumentParser
import NotifyClient

struct ListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen",
        abstract: "Print events as they come, one line each.",
        discussion: """
            Hears the topics that are named and everything below them; without one, every topic. Listening changes \
            nothing for others; with --claim you are the screen that shows what is heard, and no banner appears.

            --exec runs a shell command for each event, one after the other. The event is in its environment, never in \
            the command: NOTIFYD_ID, NOTIFYD_TOPIC, NOTIFYD_TITLE, NOTIFYD_BODY, NOTIFYD_PUBLISHED (microseconds since \
            1970), NOTIFYD_WINDOW (ms left to claim), NOTIFYD_SENDER, NOTIFYD_SOURCE, NOTIFYD_EVENT_ID, \
            NOTIFYD_VERDICT (with --claim), NOTIFYD_JSON (all of it), and NOTIFYD_FIELD_NAME for each field, its name in \
            capitals with _ for what is neither a letter nor a digit. All of it as JSON is also on its standard input; a \
            variable that would be too long for the system is missing, and named in NOTIFYD_OMITTED. A command that \
            cannot be started fails for that event alone.

            With --claim and --exec an event is held as soon as it is heard, claimed when the command ends with 0, and \
            released, so that its banner appears, when it fails or is not done within --within.

            With --actions the buttons that are chosen on banners are printed, too; -n counts events only.

            With --since what was published after that event comes first, and from there on every event comes once and in \
            order, whatever is restarted meanwhile; 0 begins with the oldest that is kept.

            Ends with 0 on Ctrl-C, on SIGTERM, or after -n events; with 1 if --timeout comes first.

            Examples:
              notifyctl listen /post /run
              notifyctl listen /run --exec 'echo "$NOTIFYD_TOPIC: $NOTIFYD_TITLE"'
              notifyctl listen /run --claim --exec ./my-handler --within 30s
              notifyctl listen /post/27 -n 1 --timeout 10m && echo "Somebody has answered."
              notifyctl listen --since 0 --json=short | jq .topic
            """)

    @Argument(help: "Topics, such as /post/27.", completion: Completion.prefixes)
    var topics: [String] = []

    @Flag(help: "Claim every event.") var claim = false
    @Option(name: .customShort("n", allowingJoined: true), help: "Stop after this many events.") var count: Int?
    @Option(help: "Stop after this long.", transform: DurationArgument.parse) var timeout: DurationArgument?
    @Option(help: ArgumentHelp("Run a shell command for each event.", valueName: "command"), completion: .file())
    var exec: String?
    @Option(
        help: "How long a command may take, waiting for its turn included; at most 10m. (default: 1m)",
        transform: DurationArgument.parse)
    var within: DurationArgument?
    @Option(
        help: "Begin after the event with this id, and miss none; 0 begins with the oldest.",
        completion: Completion.events) var since: UInt64?
    @Flag(help: "Print the buttons that are chosen on banners, too.") var actions = false

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try requireOneOrMore(count)
        if within != nil, !claim || exec == nil {
            throw ValidationError("--within is the time to confirm a claim, so it needs --claim and --exec.")
        }
        guard holdTime >= .milliseconds(1), holdTime <= .seconds(600) else {
            throw ValidationError("--within takes a time from 1ms to 10m.")
        }
    }

    private var holdTime: Duration { within?.duration ?? .seconds(60) }

    func run() async throws {
        try await reportingFailures {
            let client = try await bus.connect()
            let topics = topics.isEmpty ? ["/"] : topics
            let presses = actions ? try await client.actions(at: topics) : nil
            let events = try await Hearing(client, topics, since: since.map { EventID(rawValue: $0) })
            if try await !client.isDaemonRunning() {
                Terminal.complain("notifyd is not running yet; waiting for it.")
            }
            let listing = Listing()
            let (reading, interruption) = Interruption.cancelling { try await read(events, client, listing) }
            let side = Task {
                guard let presses else { return }
                for try await press in presses {
                    output.write(
                        press.json,
                        text: listing.line(press.cells(at: Moment.now, hasOutcome: claim), elsewhere: press.line))
                }
            }
            defer { side.cancel() }
            let alarm = timeout.map { timeout in
                Task {
                    try await Task.sleep(for: timeout.duration)
                    reading.cancel()
                }
            }
            defer { alarm?.cancel() }
            let heard = try await reading.value
            // Without -n it goes on until the time is over, or it is interrupted.
            if !interruption.hasCome, heard < count ?? .max { throw ExitCode.nothing }
        }
    }

    /// Returns how many events were heard.
    private func read(_ events: Hearing, _ client: NotifyClient, _ listing: Listing) async throws -> Int {
        guard let exec else {
            return try await forEach(events) { event in
                show(event, claim ? await claimed(event, client.claim) : nil, in: listing)
            }
        }
        // While a command runs, what comes is held, so that its banner does not appear before its turn.
        let (line, end) = AsyncStream.makeStream(of: (Event, Verdict?).self)
        async let running: Void = run(exec, for: line, client, listing)
        defer { end.finish() }
        let hold = { (id: EventID) async throws(NotifyError) in
            try await client.claimProvisionally(id, within: holdTime)
        }
        let heard = try await forEach(events) { event in
            end.yield((event, claim ? await claimed(event, hold) : nil))
        }
        end.finish()
        await running
        return heard
    }

    private func forEach(_ events: Hearing, _ body: (Event) async throws -> Void) async throws -> Int {
        var heard = 0
        for try await event in events {
            try await body(event)
            heard += 1
            if heard == count { break }
        }
        return heard
    }

    private func show(_ event: Event, _ verdict: Verdict?, in listing: Listing) {
        let now = Moment.now
        let answer = claim ? verdict?.cell ?? Cell("") : nil
        output.write(
            event.json(verdict: verdict),
            text: listing.line(
                event.cells(time: { $0.clock(seenAt: now) }, outcome: answer), elsewhere: event.line(verdict: verdict)))
    }

    /// A claim that fails is no reason to stop listening.
    private func claimed(_ event: Event, _ claim: (EventID) async throws(NotifyError) -> Verdict) async -> Verdict? {
        do throws(NotifyError) {
            return try await claim(event.id)
        } catch {
            if error.code != .cancelled { Terminal.complain("Event \(event.id) was not claimed: \(error.advice)") }
            return nil
        }
    }

    /// One after the other. What is held and not confirmed when we leave the bus gets its banner.
    private func run(
        _ exec: String, for events: AsyncStream<(Event, Verdict?)>, _ client: NotifyClient, _ listing: Listing
    ) async {
        for await (event, verdict) in events {
            show(event, verdict, in: listing)
            let isDone = await EventCommand(exec).run(for: event, verdict)
            guard verdict == .suppressed else { continue }
            do throws(NotifyError) {
                try await client.settle(event.id, isDone: isDone)
            } catch {
                Terminal.complain(
                    error.name?.hasSuffix(".NotClaimant") == true
                        ? "The command for event \(event.id) took longer than \(holdTime.shortFigure): a banner was shown. Allow more with --within."
                        : "The claim of event \(event.id) was not settled: \(error.advice)")
            }
        }
    }
}
