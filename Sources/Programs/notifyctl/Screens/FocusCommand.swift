import ArgumentParser
import NotifyClient
import NotifyText
import StandardStreams
import TOMLTables
import Watching

struct FocusCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "focus",
        abstract: "Show which window is focused, which rule fits it, and which screens are held for windows.",
        discussion: """
            notifyd-focus follows the windows, and holds screens for them by the rules in notifyd-focus.toml(5).

            With --learn, focus the window that is to hold a screen of TOPIC: a rule for it is added to focus.toml. If \
            TOPIC has a name in braces, the first number in the title is what it stands for.

            Examples:
              notifyctl focus
              notifyctl focus --learn '/post/{id}'
              notifyctl focus --learn /chat --state visible
              notifyctl focus --json=short | jq -r '.screens[].topic'
            """)

    @Flag(help: "Add a rule for the window that is focused next.") var learn = false

    @Argument(
        help: "With --learn, the topic of its screen; it may have one name in braces.",
        completion: Completion.prefixesToLearn)
    var topic: String?

    @Option(help: "With --learn, when the screen is held: focused or visible. (default: focused)")
    var state: LearnedRule.State?

    @Flag(help: "With --learn, the rule is for windows with exactly this title.") var title = false

    @Option(
        parsing: .unconditional, help: "With --learn, how long to wait for the window. (default: 1m)",
        transform: DurationArgument.parse(Learning.times, in: .milliseconds(1)))
    var timeout: Duration?

    @OptionGroup var common: CommonOptions

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
        try await bus.withQuery(of: "notifyd-focus", .focus) { query in
            let info = try await FocusInfo.ask(query)
            guard learn, let topic else { return output.write(info.json, text: info.text) }
            try await learn(topic, info, query)
        }
    }

    /// Waits for a window, adds a rule for it, and has notifyd-focus read it.
    private func learn(_ topic: String, _ info: FocusInfo, _ query: BusQuery) async throws {
        let file = RuleFile(path: info.configuration, parse: WindowRules.parse)
        _ = try file.read()
        StandardStreams.complain("Focus the window that is to hold the screen of \(Terminal.plain(topic)).")
        let window = try await FocusInfo.nextWindow(query, within: timeout ?? Learning.usualTime)
        let rule = try LearnedRule(for: window, topic: topic, state: state, withTitle: title)
        try file.add(
            rule, for: "window", fit: { $0.fit(window).map { $0.rule + 1 } },
            flaw: {
                $0.fit(window)?.topic == nil
                    ? "A rule for this window would make no topic of its title, because what stands for the name in "
                        + "braces cannot be part of a topic: “\(window.title)”."
                    : nil
            })
        _ = try await query.ask(.focus, "Reload")
        if window.app.isEmpty, window.instance.isEmpty {
            Terminal.complain(
                "The window does not say which program it belongs to: the rule is for windows of all programs with "
                    + "such a title.")
        }
        Learning.announce(rule, in: info.configuration, output)
    }
}

/// The state of notifyd-focus, and what it sees: the answer of `Get` of `org.notifyd.Focus1`.
struct FocusInfo {
    static let name = Remote.focus.name

    /// A screen: its state is `focused` or `visible`, or empty if it is not open, for which the detail has the reason.
    typealias HeldScreen = (topic: String, state: String, detail: String)

    private let state: [String: Value]

    init(_ state: [String: Value]) { self.state = state }

    var source: String { state.text("source") }
    var isFollowing: Bool { state.flag("following") }
    var detail: String { state.text("detail") }
    var configuration: String { state.text("configuration") }
    var rules: UInt32 { state.number("rules") }
    /// What locks or blanks the screen, so that no screen counts; empty: nothing.
    var obstacle: String { state.text("obstacle") }
    /// The lockers that are noticed beside what tells logind; `nil`: an older notifyd-focus, which notices none.
    var lockers: [String]? { state["lockers"]?.elements?.compactMap(\.string) }
    /// Otherwise no window is focused, or this program must not know it.
    private var isFocused: Bool { state["app"] != nil }
    var screens: [HeldScreen] {
        (state["screens"]?.elements ?? []).compactMap { $0.texts(atLeast: 3) }.map { ($0[0], $0[1], $0[2]) }
    }

    /// - Throws: if notifyd-focus does not run, does not answer, or answers in another form.
    static func ask(_ query: BusQuery) async throws(NotifyError) -> FocusInfo {
        guard let state = try await query.ask(.focus, "Get").first?.entries, state["following"] != nil else {
            throw NotifyError(
                .refused,
                "The answer does not have the form of \(FocusInfo.name). Is another program using the name?")
        }
        return FocusInfo(state)
    }

    /// Waits for another window to be focused.
    static func nextWindow(_ query: BusQuery, within limit: Duration) async throws(NotifyError) -> Window {
        let answer = try await query.ask(.focus, "WaitForFocus", [.milliseconds(limit)], within: limit + .seconds(5))
        let texts = answer.map { $0.string ?? "" } + ["", "", ""]
        return Window(id: 0, app: texts[0], instance: texts[1], title: texts[2])
    }

    // MARK: Output

    var json: JSON {
        .object(
            state.members([
                "source": "", "following": false, "detail": "", "configuration": "", "rules": 0, "windows": 0,
                "obstacle": "", "lockers": [String](),
            ])
                + JSON.members([
                    "focused": isFocused
                        ? .object(state.members(["app": "", "instance": "", "title": "", "rule": nil, "topic": nil]))
                        : JSON.null,
                    "screens": screens.map { screen -> JSON in
                        ["topic": screen.topic, "state": screen.state, "detail": screen.detail]
                    },
                ]))
    }

    /// Its own state and the focused window in two columns, and a line for each screen.
    var text: String {
        let width = Terminal.size?.columns
        let windows: UInt32 = state.number("windows")
        let hidden = [Cell("Hidden"), Cell("\(obstacle) is in front of all windows", .yellow)]
        let rows = [
            [Cell("Windows"), isFollowing ? Cell("\(windows), by \(source)", .green) : Cell(detail, .yellow)],
            [Cell("Rules"), Cell("\(rules) in \(configuration)")],
            [Cell("Focused"), Cell(isFocused ? "\(names): \(state.text("title"))" : "no window")],
            [Cell("Rule"), Cell(isFocused ? rule : "none")],
        ]
        let lines = Columns.wrapped((obstacle.isEmpty ? [] : [hidden]) + rows, within: width)
        let cells = screens.map { screen in
            [
                Cell(screen.topic, .bold, isImportant: true),
                screen.state.isEmpty ? Cell("not open: \(screen.detail)", .yellow) : Cell(screen.state, .green),
            ]
        }
        let heading = screens.isEmpty ? [] : ["Screens"]
        return (lines + heading + Columns.stackedLines(cells, indentation: "  ", within: width)).joined(separator: "\n")
    }

    /// Both parts of `WM_CLASS` if they differ: either can be in a rule.
    private var names: String {
        let (app, instance) = (state.text("app"), state.text("instance"))
        return instance.isEmpty || instance.lowercased() == app.lowercased() ? app : "\(app) (\(instance))"
    }

    /// The rule that fits the focused window, and what becomes of it.
    private var rule: String {
        guard let rule: UInt32 = state["rule"]?.integer() else { return "none fits" }
        return "\(rule): " + (state["topic"]?.string ?? "what it takes from the title cannot be part of a topic")
    }
}
