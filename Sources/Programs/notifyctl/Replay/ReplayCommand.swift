import ArgumentParser
import NotifyClient
import NotifyJSON

import struct Routing.RouteTable

struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Show what another window or configuration would have done with recorded events.",
        discussion: """
            Replays recorded events and their claims with the daemon's own rules in virtual time, and prints which banners \
            would be added or missing. --window sets one window for all events; --config uses the routes of that file; with \
            both, its routes get that window. It changes nothing.

            With --config alone, an event keeps the window that its publisher set. The record has only the window that it had: \
            one that is not the window of its route in the present configuration is taken for the publisher's.

            Silent and muted events are left out, except muted ones whose route has break_through in that file. The route \
            option “wait” and the limit of banners per second are not replayed. Exit code 1 if nothing is recorded.

            Examples:
              notifyctl replay --window 50ms
              notifyctl replay --since 7d --config new.toml
            """)

    @Option(
        parsing: .unconditional,
        help: "Begin after this event, or this long ago: an id, or a time such as 24h. (default: 24h)",
        transform: StartArgument.parse)
    var since = StartArgument.ago(.seconds(86400))
    @Option(
        parsing: .unconditional, help: "The window to try; at most 1m. (default: 60ms, without --config)",
        transform: DurationArgument.parse(.zero ... .seconds(60)))
    var window: DurationArgument?
    @Option(help: "The configuration file to try.", completion: .file(extensions: ["toml"])) var config: String?
    @Option(
        help: "The notifyd that reads it, instead of the one beside notifyctl or in $PATH.", completion: .file())
    var daemon: String?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    enum StartArgument {
        case id(UInt64)
        case ago(Duration)

        static func parse(_ text: String) throws -> StartArgument {
            if let id = UInt64(text) { return .id(id) }
            if Duration.isTooLong(text) { throw DurationArgument.tooLong(text) }
            guard let time = Duration(text: text) else {
                throw ValidationError(
                    "“\(text)” is neither the id of an event nor a time. Write how long ago, such as 90m, 12h or 30d; the longest "
                        + "is 366d.")
            }
            return .ago(time)
        }
    }

    func validate() throws {
        if daemon != nil, config == nil {
            throw ValidationError("--daemon reads the file of --config: give both, or leave it out.")
        }
    }

    func run() async throws {
        let history = HistoryReader(client: try await bus.connect(reading: true), topic: "/")
        let records =
            switch since {
            case .id(let id): try await history.first(.max, after: EventID(rawValue: id))
            case .ago(let time): try await history.since(Timestamp.now - time.microseconds)
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
            explanations.map(ReplayEvent.init), routes: routes, present: present,
            window: window?.duration ?? (config == nil ? .milliseconds(60) : nil))
        output.write(report.json, text: report.text)
    }
}

extension ReplayEvent {
    init(_ explanation: Explanation) {
        self.init(
            id: explanation.id.rawValue, topic: explanation.topic, route: explanation.route, key: explanation.key,
            sender: explanation.sender ?? "", time: explanation.start, window: explanation.window,
            hasJoined: (explanation.opened ?? .max) < explanation.start - 1000,
            outcome: explanation.outcome?.rawValue ?? "",
            claims: explanation.effectiveClaims.compactMap { claim in
                // A claim without a latency says nothing about a window.
                claim.after.map { after in
                    Claim(
                        by: claim.by, after: after, isOfUse: explanation.isOfUse(claim),
                        isAnswer: explanation.answers.contains(claim))
                }
            })
    }
}
