import ArgumentParser
import Glibc
import NotifyClient
import NotifyRehearsal

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
            NOTIFYD_VERDICT (with --claim), NOTIFYD_JSON (all of it), and NOTIFYD_FIELD_name for each field whose \
            name is made of letters, digits and _.

            Ends with 0 on Ctrl-C, on SIGTERM, or after -n events; with 1 if --timeout comes first, or no event at all.
            """)

    @Argument(help: "Topics, such as /post/27.")
    var topics: [String] = []

    @Flag(help: "Claim every event.") var claim = false
    @Option(name: .customShort("n"), help: "Stop after this many events.") var count: Int?
    @Option(help: "Stop after this long.") var timeout: DurationArgument?
    @Option(help: ArgumentHelp("Run a shell command for each event.", valueName: "command")) var exec: String?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("-n takes a number from 1 upwards.") }
    }

    func run() async throws {
        try await reportingFailures {
            let client = try await bus.connect()
            let events = try await client.events(at: topics.isEmpty ? ["/"] : topics)
            if try await !client.isDaemonRunning() {
                Terminal.complain("notifyd is not running yet; waiting for it.")
            }
            let reading = Task { try await read(events, client) }
            let interruption = Interruption { reading.cancel() }
            let alarm = timeout.map { timeout in
                Task {
                    try await Task.sleep(for: timeout.duration)
                    reading.cancel()
                }
            }
            defer { alarm?.cancel() }
            let heard = try await reading.value
            if interruption.hasCome { return }
            if heard < count ?? 1 { throw ExitCode.nothing }
        }
    }

    /// Returns how many events were heard.
    private func read(_ events: Subscription<Event>, _ client: NotifyClient) async throws -> Int {
        var heard = 0
        for try await event in events {
            let verdict = claim ? await claimed(event, client) : nil
            output.write(event.json(verdict: verdict), text: event.line(verdict: verdict))
            if let exec { try await run(exec, for: event, verdict) }
            heard += 1
            if heard == count { break }
        }
        return heard
    }

    /// A claim that fails is no reason to stop listening.
    private func claimed(_ event: Event, _ client: NotifyClient) async -> Verdict? {
        do {
            return try await client.claim(event.id)
        } catch {
            if error.code != .cancelled { Terminal.complain("Event \(event.id) was not claimed: \(error.advice)") }
            return nil
        }
    }

    private func run(_ command: String, for event: Event, _ verdict: Verdict?) async throws {
        let environment = ChildProcess.currentEnvironment.merging(event.environment(verdict)) { $1 }
        let shell = try ChildProcess("/bin/sh", ["-c", command], environment: environment, inOwnGroup: true)
        // It is waited for even when we are asked to end: it is asked to end as well.
        let end = await withTaskCancellationHandler {
            await Task { await shell.waitForExit(within: .seconds(366 * 86400)) }.value
        } onCancel: {
            shell.signal(SIGTERM)
        }
        if case .code(let code)? = end, code != 0 {
            Terminal.complain("The command ended with \(code) for event \(event.id).")
        }
    }
}

extension Event {
    func environment(_ verdict: Verdict?) -> [String: String] {
        var result = [
            "NOTIFYD_ID": "\(id)", "NOTIFYD_TOPIC": topic, "NOTIFYD_TITLE": title, "NOTIFYD_BODY": body,
            "NOTIFYD_JSON": json(verdict: verdict).text(pretty: false),
        ]
        result["NOTIFYD_PUBLISHED"] = published.map { String($0) }
        result["NOTIFYD_WINDOW"] = window.map { JSON.milliseconds($0).text(pretty: false) }
        result["NOTIFYD_SENDER"] = sender
        result["NOTIFYD_SOURCE"] = source
        result["NOTIFYD_EVENT_ID"] = eventID
        result["NOTIFYD_VERDICT"] = verdict?.rawValue
        for (key, value) in fields where key.utf8.allSatisfy(\.isPartOfName) {
            result["NOTIFYD_FIELD_" + key] = Text(value).text
        }
        return result
    }
}

extension UInt8 {
    fileprivate var isPartOfName: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
