import ArgumentParser
import NotifyClient
import StandardStreams

struct FocusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "focus",
        abstract: "Show which window is focused, which rule fits it, and which screens are held for windows.",
        discussion: """
            notifyd-focus follows the windows, and holds screens for them by the rules in notifyd-focus.toml(5).

            With --learn, focus the window that is to hold a screen of TOPIC: a rule for it is added to focus.toml. If TOPIC has \
            a name in braces, the first number in the title is what it stands for.

            Examples:
              notifyctl focus
              notifyctl focus --learn '/post/{id}'
              notifyctl focus --learn /chat --state visible
              notifyctl focus --json=short | jq -r '.screens[].topic'
            """)

    @Flag(help: "Add a rule for the window that is focused next.")
    var learn = false

    @Argument(
        help: "With --learn, the topic of its screen; it may have one name in braces.",
        completion: Completion.prefixesToLearn)
    var topic: String?

    @Option(help: "With --learn, when the screen is held: focused or visible. (default: focused)")
    var state: LearnedRule.State?

    @Flag(help: "With --learn, the rule is for windows with exactly this title.")
    var title = false

    @Option(
        parsing: .unconditional, help: "With --learn, how long to wait for the window. (default: 1m)",
        transform: DurationArgument.parse(Learning.times, in: .milliseconds(1)))
    var timeout: DurationArgument?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard learn else {
            if topic != nil || state != nil || title || timeout != nil {
                throw ValidationError("TOPIC, --state, --title and --timeout are for --learn.")
            }
            return
        }
        guard let topic else { throw ValidationError("Give the topic of the screen, such as /post/{id}.") }
        if try Learning.captures(of: topic) == 1, title {
            throw ValidationError("With --title nothing of the title can vary: no {name}.")
        }
    }

    func run() async throws {
        try Learning.requirePattern(topic)
        try await bus.withQuery { query in
            do {
                let info = try await FocusInfo.ask(query)
                guard learn, let topic else { return output.write(info.json, text: Self.text(info)) }
                try await learn(topic, info, query)
            } catch let error as NotifyError {
                throw Self.reported(error)
            }
        }
    }

    /// Waits for a window, adds a rule for it, and has notifyd-focus read it.
    private func learn(_ topic: String, _ info: FocusInfo, _ query: BusQuery) async throws {
        let file = FocusFile(info.configuration)
        _ = try file.rules()
        StandardStreams.complain("Focus the window that is to hold the screen of \(Terminal.plain(topic)).")
        let window = try await FocusInfo.nextWindow(query, within: timeout?.duration ?? Learning.usualTime)
        let rule = try LearnedRule(for: window, topic: topic, state: state, withTitle: title)
        try file.add(rule, for: window)
        try await FocusInfo.reload(query)
        if window.app.isEmpty, window.instance.isEmpty {
            Terminal.complain(
                "The window does not say of which program it is: the rule is for windows of all programs with such a title."
            )
        }
        Learning.announce(rule, in: info.configuration, output)
    }

    private static func text(_ info: FocusInfo) -> String {
        let width = Terminal.size?.columns
        var lines = Columns.wrapped(info.rows, within: width)
        if !info.screens.isEmpty {
            lines.append("Screens")
            lines += Columns.stackedLines(info.screenCells, indentation: "  ", within: width)
        }
        return lines.joined(separator: "\n")
    }

    private static func reported(_ error: NotifyError) -> any Error {
        switch (error.code, error.name) {
        case (.refused, "\(FocusInfo.name).Error.TimedOut"?), (.refused, "\(FocusInfo.name).Error.Sandboxed"?):
            Terminal.complain(Terminal.plain(error.message) + ".")
            return error.name?.hasSuffix("TimedOut") == true ? ExitCode.nothing : ExitCode.refused
        case (.refused, "\(FocusInfo.name).Error.BadTitle"?):
            Terminal.complain("\(Terminal.plain(error.message)): write the rule by hand, notifyd-focus.toml(5).")
            return ExitCode.badData
        case (.notReachable, _?):
            Terminal.complain("notifyd-focus does not run. Start it: systemctl --user enable --now notifyd-focus")
            return ExitCode.notReachable
        default: return error
        }
    }
}
