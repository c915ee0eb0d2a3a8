import ArgumentParser
import NotifyClient
import NotifyText

import struct Routing.RouteTable

struct ReplayCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Show what another window or configuration would have done with recorded events.",
        discussion: """
            Replays recorded events and their claims with the daemon's own rules in virtual time, and prints which \
            banners would be added or missing. --window sets one window for all events; --config uses the routes of \
            that file; with both, its routes get that window. It changes nothing.

            With --config alone, an event keeps the window that its publisher set. The record has only the window that \
            it had: one that is not the window of its route in the present configuration is taken for the publisher's.

            Silent and muted events are left out, except muted ones whose route has break_through in that file. The \
            route option “wait” and the limit of banners per second are not replayed. Exit code 1 if nothing is \
            recorded.

            Examples:
              notifyctl replay --window 50ms
              notifyctl replay --since 7d --config new.toml
            """)

    @Option(
        parsing: .unconditional,
        help: "Begin after this event or this time: an id, a date, or how long ago, such as 24h. (default: 24h)",
        transform: MomentArgument.parse)
    var since: MomentArgument?
    @Option(
        parsing: .unconditional, help: "The window to try; at most 1m. (default: 60ms, without --config)",
        transform: DurationArgument.parse(.zero ... .seconds(60)))
    var window: Duration?
    @Option(help: "The configuration file to try.", completion: .file(extensions: ["toml"])) var config: String?
    @Option(help: "The notifyd that reads it, instead of the one beside notifyctl or in $PATH.", completion: .file())
    var daemon: String?

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if daemon != nil, config == nil {
            throw ValidationError("--daemon reads the file of --config: give both, or leave it out.")
        }
    }

    func run() async throws {
        let history = HistoryReader(client: try await bus.connect(reading: true), topic: "/")
        let records =
            switch since ?? .time(Timestamp.now - 86_400_000_000) {
            case .event(let id): try await history.first(.max, after: EventID(rawValue: id))
            case .time(let moment): try await history.since(moment)
            }
        let explanations = try await history.explanations(of: records.map(\.event.id))
        if explanations.isEmpty { throw ExitCode.nothing }
        var routes: RouteTable?
        var present: RouteTable?
        if let config {
            let daemon = try daemon ?? Daemon.locate()
            routes = try await ConfiguredRoutes.read(config, with: daemon)
            present = await ConfiguredRoutes.present(with: daemon)
        }
        let report = try ReplayReport(
            explanations, routes: routes, present: present,
            window: window ?? (config == nil ? .milliseconds(60) : nil))
        output.write(report.json, text: report.text)
    }
}

/// The latencies of claims.
struct Latencies: Equatable, Sendable {
    private let sorted: [Duration]

    init(_ latencies: some Sequence<Duration>) { sorted = latencies.sorted() }

    var count: Int { sorted.count }
    var longest: Duration? { sorted.last }

    /// The shortest time within which this many of 100 claims came.
    func reached(by percent: Int) -> Duration? {
        sorted.isEmpty ? nil : sorted[max(1, (percent * count + 50) / 100) - 1]
    }

    /// The smallest window that would have caught this many of 100 claims; `nil` when none can be that long.
    func window(catching percent: Int) -> Duration? {
        guard let time = reached(by: percent) else { return nil }
        let milliseconds = (time.microseconds + 999) / 1000
        return milliseconds <= 60_000 ? .milliseconds(milliseconds) : nil
    }

    var json: JSON { .object(members) }

    var members: [(String, JSON)] {
        JSON.members([
            "claims": count, "p50": reached(by: 50), "p95": reached(by: 95), "p99": reached(by: 99), "max": longest,
        ])
    }

    /// For programs, the windows that would have sufficed, in milliseconds.
    var windows: [(String, JSON)] {
        [95, 99].map { ("window-for-\($0)", window(catching: $0).map(JSON.milliseconds) ?? .null) }
    }

    /// For people; `nil` if there are none.
    var line: String? {
        guard let half = reached(by: 50), let most = reached(by: 95), let nearlyAll = reached(by: 99), let longest
        else {
            return nil
        }
        return
            "50% within \(half.displayText), 95% \(most.displayText), 99% \(nearlyAll.displayText), longest "
            + "\(longest.displayText) (\(count))"
    }

    /// The windows that would have sufficed, for people.
    var windowText: String {
        [95, 99].map { percent in "\(windowText(catching: percent)) for \(percent) of 100 claims" }
            .joined(separator: ", ")
    }

    func windowText(catching percent: Int) -> String {
        window(catching: percent)?.shortText ?? "none (60 s is the longest there is)"
    }
}
