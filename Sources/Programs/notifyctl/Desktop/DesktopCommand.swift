import ArgumentParser
import DesktopEvents
import NotifyClient
import StandardStreams

struct DesktopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "desktop",
        abstract: "Show which notifications of programs came lately, which rule fits them, and their topics.",
        discussion: """
            notifyd-desktop makes events of the notifications that programs show by themselves, by the rules in \
            notifyd-desktop.toml(5).

            With --learn, have the program show a notification: a rule for it is added to desktop.toml. If TOPIC has a name in \
            braces, the room in the title (#general) or else the first number in it is what it stands for.

            Examples:
              notifyctl desktop
              notifyctl desktop --learn '/slack/{room}'
              notifyctl desktop --learn --keep 0
              notifyctl desktop --json=short | jq -r '.notifications[].topic'
            """)

    private static let keeps: ClosedRange<Duration> = .zero...DesktopRules.longestKeep

    @Flag(help: "Add a rule for the notification that comes next.")
    var learn = false

    @Argument(
        help: "With --learn, its topic; it may have one name in braces. (default: /app/NAME)",
        completion: Completion.prefixesToLearn)
    var topic: String?

    @Option(
        help: "With --learn, how long its text stays on disk; 0: its program is left alone. (default: 24h)",
        transform: DurationArgument.parse(keeps, in: .seconds(1)))
    var keep: DurationArgument?

    @Flag(help: "With --learn, other devices get it too.")
    var share = false

    @Option(
        parsing: .unconditional, help: "With --learn, how long to wait for the notification. (default: 1m)",
        transform: DurationArgument.parse(Learning.times, in: .milliseconds(1)))
    var timeout: DurationArgument?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard learn else {
            if topic != nil || keep != nil || share || timeout != nil {
                throw ValidationError("TOPIC, --keep, --share and --timeout are for --learn.")
            }
            return
        }
        if let topic { _ = try Learning.captures(of: topic) }
    }

    func run() async throws {
        try Learning.requirePattern(topic)
        try await bus.withQuery { query in
            do {
                let info = try await DesktopInfo.ask(query)
                if learn { return try await learn(info, query) }
                output.write(info.json, text: info.text)
            } catch let error as NotifyError {
                throw Self.reported(error)
            }
        }
    }

    /// Waits for a notification, adds a rule for it, and has notifyd-desktop read it.
    private func learn(_ info: DesktopInfo, _ query: BusQuery) async throws {
        let file = DesktopFile(info.configuration)
        _ = try file.rules()
        StandardStreams.complain("Have the program show a notification.")
        let sighting = try await DesktopInfo.next(query, within: timeout?.duration ?? Learning.usualTime)
        let rule = try LearnedRule(for: sighting, topic: topic, keep: keep?.duration, isShared: share)
        try file.add(rule, for: sighting)
        try await DesktopInfo.reload(query)
        Learning.announce(rule, in: info.configuration, output)
    }

    private static func reported(_ error: NotifyError) -> any Error {
        switch (error.code, error.name) {
        case (.refused, "\(DesktopInfo.interface).Error.TimedOut"?):
            Terminal.complain(Terminal.plain(error.message) + ".")
            return ExitCode.nothing
        case (.notReachable, _?):
            Terminal.complain(
                "notifyd-desktop does not run. Start it: systemctl --user enable --now notifyd-desktop")
            return ExitCode.notReachable
        default: return error
        }
    }
}
