import ArgumentParser
import NotifyClient
import NotifyText

struct ListenCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Print events as they arrive, one line each.",
        discussion: """
            Prints the events at or below the given topics; without a topic, all events. Listening does not affect \
            other programs. With --claim every event is claimed, and no banner appears.

            --exec runs a shell command for each event, one after the other. The event is in its environment, never in \
            the command: NOTIFYD_ID, NOTIFYD_TOPIC, NOTIFYD_TITLE, NOTIFYD_BODY, NOTIFYD_PUBLISHED (microseconds since \
            1970), NOTIFYD_WINDOW (ms left to claim), NOTIFYD_SENDER, NOTIFYD_SOURCE, NOTIFYD_EVENT_ID, \
            NOTIFYD_VERDICT (with --claim), NOTIFYD_SUMMARY and NOTIFYD_TEXT (what its banner says), NOTIFYD_JSON (all \
            of it), and NOTIFYD_FIELD_NAME for each field, its name in capitals with _ for what is neither a letter \
            nor a digit. The event as JSON is also on its standard input. Variables that are too long for the system \
            are missing, and listed in NOTIFYD_OMITTED. A command that cannot be started fails for that event only.

            With --claim and --exec an event is held as soon as it is received. It is claimed when the command ends \
            with 0, and released when the command fails or exceeds --within: then its banner appears.

            With --actions the buttons that are pressed on banners are printed too; -n counts events only.

            With --since it prints every event after that one, once and in order, even if notifyd or the bus restarts; \
            0 begins with the oldest event in the journal.

            Ends with 0 on Ctrl-C, on SIGTERM, or after -n events; with 1 if --timeout comes first.

            Examples:
              notifyctl listen /post /run
              notifyctl listen /run --exec 'echo "$NOTIFYD_TOPIC: $NOTIFYD_TITLE"'
              notifyctl listen /run --claim --exec ./my-handler --within 30s
              notifyctl listen /post/27 -n 1 --timeout 10m && echo "There is an answer."
              notifyctl listen --since 0 --json=short | jq .topic
            """)

    @Argument(help: "Topics, such as /post/27.", completion: Completion.prefixes) var topics: [String] = []

    @Flag(help: "Claim every event.") var claim = false
    @Option(
        name: .customShort("n", allowingJoined: true), parsing: .unconditional, help: "Stop after this many events.",
        transform: NumberArgument.parse(1 ... .max))
    var count: Int?
    @Option(parsing: .unconditional, help: "Stop after this long.", transform: DurationArgument.parse)
    var timeout: Duration?
    @Option(help: ArgumentHelp("Run a shell command for each event.", valueName: "command"), completion: .file())
    var exec: String?
    @Option(
        parsing: .unconditional,
        help: "How long a command may take, including its time in the queue; at most 10m. (default: 1m)",
        transform: DurationArgument.parse(.milliseconds(1) ... .seconds(600), in: .milliseconds(1)))
    var within: Duration?
    @Option(
        parsing: .unconditional,
        help: "Begin after the event with this id, or after “last”, and miss none; 0 begins with the oldest event.",
        completion: Completion.eventsAndLast, transform: EventArgument.parse)
    var since: EventArgument?
    @Flag(help: "Also print the buttons that are pressed on banners.") var actions = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if exec?.isBlank == true { throw ValidationError("--exec takes a shell command; without one, leave it out.") }
        if within != nil, !claim || exec == nil {
            throw ValidationError("--within is the time to confirm a claim, so it needs --claim and --exec.")
        }
    }

    private typealias Events = any AsyncSequence<Event, NotifyError> & Sendable

    private var holdTime: Duration { within ?? .seconds(60) }

    func run() async throws {
        let client = try await bus.connect()
        let topics = topics.isEmpty ? ["/"] : topics
        let presses = actions ? try await client.actions(at: topics) : nil
        // As they are announced, with the lowest latency; or all after a known one.
        let events: Events
        if let since {
            events = try await client.allEvents(at: topics, after: try await since.findIfAny(client) ?? 0)
        } else {
            events = try await client.events(at: topics)
        }
        if try await !client.isDaemonRunning() { Terminal.complain("notifyd is not running yet; waiting for it.") }
        let listing = Listing()
        let side = Task {
            guard let presses else { return }
            for try await press in presses {
                output.write(
                    press.json,
                    text: listing.line(press.cells(at: Timestamp.now, hasOutcome: claim), elsewhere: press.line))
            }
        }
        defer { side.cancel() }
        let (heard, isInterrupted) = try await TerminationSignals.run(within: timeout) {
            try await read(events, client, listing)
        }
        // Without -n it ends at the timeout or on a signal.
        if !isInterrupted, heard ?? 0 < count ?? .max { throw ExitCode.nothing }
    }

    private func read(_ events: Events, _ client: NotifyClient, _ listing: Listing) async throws -> Int {
        let texts = BannerTexts(client)
        guard let exec else {
            return try await withOrderedOutput(texts) { (heard: (event: Event, answer: ClaimAnswer?), text) in
                output.write(heard.event, heard.answer, hasAnswers: claim, text, in: listing)
            } _: { put in
                try await forEach(events) { event in
                    let verdict = claim ? await claimed(event, client.claim) : nil
                    let answer = verdict.map { ClaimAnswer($0, isProvisional: false) }
                    await put((event, answer), event.needsText ? event.id : nil)
                    return true
                }
            }
        }
        // Events that arrive while a command runs are held, so that their banners do not appear before they are
        // handled.
        let (queue, continuation) = AsyncStream.makeStream(of: (Event, ClaimAnswer?).self)
        let handled = Locked(HandledEvents())
        async let running: Void = run(exec, for: queue, handled, texts, listing)
        defer { continuation.finish() }
        let hold = { (id: EventID) async throws(NotifyError) in
            try await client.claimProvisionally(id, within: holdTime)
        }
        let heard = try await forEach(events) { event in
            guard claim else {
                continuation.yield((event, nil))
                return true
            }
            let stage = handled.withLock { $0.hear(event) }
            let verdict = await claimed(event, stage == .done ? client.claim : hold)
            if stage == .new { continuation.yield((event, verdict.map { ClaimAnswer($0, isProvisional: true) })) }
            return stage == .new
        }
        continuation.finish()
        await running
        return heard
    }

    /// - Parameter body: returns whether the event counts.
    private func forEach(_ events: Events, _ body: (Event) async throws -> Bool) async throws -> Int {
        var heard = 0
        for try await event in events {
            if try await body(event) { heard += 1 }
            if heard == count { break }
        }
        return heard
    }

    /// A failed claim does not end the command.
    private func claimed(_ event: Event, _ claim: (EventID) async throws(NotifyError) -> Verdict) async -> Verdict? {
        do throws(NotifyError) {
            return try await claim(event.id)
        } catch {
            if error.code != .cancelled { Terminal.complain("Event \(event.id) was not claimed: \(error.advice)") }
            return nil
        }
    }

    /// Runs the command for one event after the other. Events that are still held when notifyctl ends get their
    /// banners.
    private func run(
        _ exec: String, for events: AsyncStream<(Event, ClaimAnswer?)>, _ handled: Locked<HandledEvents>,
        _ texts: BannerTexts, _ listing: Listing
    ) async {
        for await (event, answer) in events {
            // A template may replace the title, so it is asked even if there is one.
            let text = await texts.text(of: event.id)
            output.write(event, answer, hasAnswers: claim, event.needsText ? text : nil, in: listing)
            let isDone = await EventCommand(command: exec).run(for: event, answer, text)
            defer { handled.withLock { $0.end(event.id, isDone: isDone) } }
            guard answer?.isHeld == true else { continue }
            let held = HeldEvent(id: event.id, client: texts.client, limit: holdTime)
            if let complaint = await held.settle(isDone: isDone) { Terminal.complain(complaint) }
        }
    }
}

/// An event that `listen --claim --exec` held while its command ran.
struct HeldEvent: Sendable {
    let id: EventID
    let client: NotifyClient
    /// How long it could be held.
    let limit: Duration

    /// Claims or releases it, also after the task was cancelled.
    ///
    /// - Parameter isDone: whether the command succeeded.
    /// - Returns: what went wrong, in words; `nil` if nothing did.
    func settle(isDone: Bool) async -> String? { await Task { await settleOrSay(isDone: isDone) }.value }

    private func settleOrSay(isDone: Bool) async -> String? {
        do throws(NotifyError) {
            do throws(NotifyError) {
                try await client.settle(id, isDone: isDone)
                return nil
            } catch  where error.name?.hasSuffix(".NotClaimant") == true {
                return try await settleUnheld(isDone: isDone)
            }
        } catch {
            return "The claim of event \(id) was not settled: \(error.advice)"
        }
    }

    /// The hold is gone: its time ran out, or notifyd was restarted. The event may still be undecided.
    private func settleUnheld(isDone: Bool) async throws(NotifyError) -> String? {
        var explanation = try await client.explain(id)
        if explanation.outcome == nil {
            guard isDone, try await client.claim(id) != .suppressed else { return nil }
            explanation = try await client.explain(id)
        }
        return Self.complaint(explanation, limit: limit)
    }

    /// What happened to an event that could not be claimed as its command ended.
    static func complaint(_ explanation: Explanation, limit: Duration) -> String {
        let id = explanation.id
        if explanation.outcome == .shown, explanation.claims.last(where: { $0.isEnd })?.form == "ranout" {
            return "The command for event \(id) took longer than \(limit.shortText): a banner was shown. "
                + "Allow more with --within."
        }
        let cause = explanation.isReplayed ? "notifyd was restarted, and the hold was lost" : "the hold was lost"
        let outcome = explanation.outcome?.rawValue ?? "undecided"
        return "Event \(id) was not held any more when its command ended: \(cause). "
            + "It is \(Terminal.plain(outcome)): \(Terminal.plain(explanation.reason))"
    }
}

/// The events that the command of `listen --claim --exec` was run for, or will be. notifyd announces an undecided event
/// again after a restart; its command does not run a second time for that.
struct HandledEvents: Sendable {
    enum Stage: Sendable {
        case new
        /// The command waits for its turn or runs.
        case inHand
        case done
    }

    /// How many events whose command has succeeded are remembered.
    private static let memory = 1000

    private var inHand: Set<EventID> = []
    private var done: [EventID] = []

    /// What was done for an event that is heard now. A new one is in hand from now on.
    mutating func hear(_ event: Event) -> Stage {
        if inHand.contains(event.id) { return .inHand }
        if event.isReplayed, done.contains(event.id) { return .done }
        inHand.insert(event.id)
        return .new
    }

    mutating func end(_ id: EventID, isDone: Bool) {
        inHand.remove(id)
        guard isDone else { return }
        done.append(id)
        if done.count > Self.memory { done.removeFirst() }
    }
}

struct WatchCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show the current values of topics, and then every change.",
        discussion: """
            Prints the current values as added (+), and then every value that is added, modified (~) or removed (-). \
            It continues over restarts of the daemon. “send --retain”, or a route that retains, publishes a value; \
            “send --remove” removes it.

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
    var timeout: Duration?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let client = try await bus.connect(reading: true)
        let changes = try await client.watch(topic)
        if try await !client.isDaemonRunning() { Terminal.complain("notifyd is not running yet; waiting for it.") }
        let listing = Listing()
        let (isComplete, isInterrupted) = try await TerminationSignals.run(within: timeout) {
            try await withOrderedOutput(BannerTexts(client)) { (change: Change, text) in
                output.write(change.json(text), text: listing.line(change.cells(text), elsewhere: change.line(text)))
            } _: { put in
                var seen = 0
                for try await change in changes {
                    let isAsked = change.kind != .removed && change.value.needsText
                    await put(change, isAsked ? change.value.id : nil)
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
