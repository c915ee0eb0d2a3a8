import ArgumentParser
import NotifyClient

import struct Routing.RouteTable

struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Say what another window or configuration would have done with what was recorded.",
        discussion: """
            Takes recorded events and the claims on them through the daemon's own rules in virtual time: which banners \
            more, which fewer. With --window there is one window for all events; with --config the routes of that file \
            decide; with both, its routes with that window. It changes nothing.

            Events that had no window then, because they were silent or muted, play no part; for whom a route waits, and \
            how many banners may appear in a second, is not replayed. Exit code 1 if nothing is recorded.

            Examples:
              notifyctl replay --window 50ms
              notifyctl replay --since 7d --config new.toml
            """)

    @Option(help: "Begin after this event, or this long ago: an id, or a time such as 24h.")
    var since = StartArgument.ago(.seconds(86400))
    @Option(help: "The window to try. (default: 60ms, without --config)", transform: DurationArgument.parse)
    var window: DurationArgument?
    @Option(help: "The configuration file to try.", completion: .file(extensions: ["toml"])) var config: String?
    @Option(
        help: "The notifyd that reads it, instead of the one beside notifyctl or in $PATH.", completion: .file())
    var daemon: String?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    enum StartArgument: ExpressibleByArgument {
        case id(UInt64)
        case ago(Duration)

        init?(argument: String) {
            if let id = UInt64(argument) {
                self = .id(id)
            } else if let time = Duration(text: argument) {
                self = .ago(time)
            } else {
                return nil
            }
        }

        var defaultValueDescription: String { "24h" }
    }

    func validate() throws {
        if let window, window.duration > .seconds(60) { throw ValidationError("A window is 0 to 60 seconds long.") }
    }

    func run() async throws {
        try await reportingFailures {
            let archive = Archive(client: try await bus.connect(), topic: "/")
            let records =
                switch since {
                case .id(let id): try await archive.first(.max, after: EventID(rawValue: id))
                case .ago(let time): try await archive.since(Moment.now - microseconds(time))
                }
            let explanations = try await archive.explanations(of: records.map(\.event.id))
            if explanations.isEmpty { throw ExitCode.nothing }
            let routes: RouteTable? =
                if let config {
                    try await ConfiguredRoutes.read(config, with: try daemon ?? Daemon.locate())
                } else {
                    nil
                }
            let whatIf = try WhatIf(
                explanations.map(RecordedPush.init), routes: routes,
                window: window?.duration ?? (config == nil ? .milliseconds(60) : nil))
            output.write(whatIf.json, text: whatIf.text)
        }
    }

    private func microseconds(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        let whole = seconds.multipliedReportingOverflow(by: 1_000_000)
        // Longer ago than anything that is kept.
        return whole.overflow ? Moment.now : whole.partialValue + attoseconds / 1_000_000_000_000
    }
}

extension RecordedPush {
    init(_ explanation: Explanation) {
        self.init(
            id: explanation.id.rawValue, topic: explanation.topic, route: explanation.route, key: explanation.key,
            sender: explanation.sender ?? "", time: explanation.start, window: explanation.window,
            outcome: explanation.outcome?.rawValue ?? "",
            claims: explanation.effectiveClaims.map { claim in
                Claim(
                    by: claim.by, after: claim.after, isOfUse: claim.verdict != .recorded,
                    isAnswer: Explanation.Claim.isAnswer(claim.form, after: claim.after))
            })
    }
}
