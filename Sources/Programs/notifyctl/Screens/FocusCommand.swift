import ArgumentParser
import NotifyClient
import NotifyJSON
import StandardStreams
import TOMLTables
import WindowRules

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

/// The file with the rules of notifyd-focus.
struct FocusFile {
    private let file: RuleFile

    init(_ path: String) {
        file = RuleFile(path: path)
    }

    private func parse(_ text: String) throws(ConfigurationError) -> WindowRules {
        try WindowRules.parse(text, file: file.path)
    }

    /// The rules in it.
    ///
    /// - Throws: the exit code, after its mistakes were told.
    func rules() throws -> WindowRules { try file.read(parse).rules }

    /// Adds a rule at the end.
    ///
    /// - Parameter window: it fits the rule.
    func add(_ rule: LearnedRule, for window: FocusInfo.FocusedWindow) throws {
        var (old, rules) = try file.read(parse)
        var (text, newRules) = try file.adding(rule.text, to: old, parse)
        let window = Window(id: 0, app: window.app, instance: window.instance, title: window.title)
        if let fit = rules.fit(window) {
            Terminal.complain(
                "Rule \(fit.rule + 1) in \(Terminal.plain(file.path)) fits this window already, and the first that fits counts; "
                    + "nothing was changed.")
            throw ExitCode.refused
        }
        guard newRules.fit(window)?.topic != nil else {
            Terminal.complain(
                "A rule for this window would make no topic of its title, because what stands for the name in braces is no part "
                    + "of a topic: “\(Terminal.plain(window.title))”. Nothing was changed.")
            throw ExitCode.badData
        }
        try file.write(text)
    }
}

/// How notifyd-focus is, and what it sees: `org.notifyd.Focus1`.
struct FocusInfo {
    static let name = "org.notifyd.Focus1"
    private static let path = "/org/notifyd/Focus1"
    /// The detail of a screen that waits for notifyd.
    static let noDaemon = "notifyd is not there"
    /// So begins the detail of a screen that the policy does not let it open.
    static let denial = "you may not "

    /// The window that has the keyboard.
    struct FocusedWindow {
        let app: String
        /// The other part of `WM_CLASS`; may be empty.
        let instance: String
        let title: String
        /// The number of the rule that fits, from 1.
        let rule: UInt32?
        let topic: String?
    }

    struct HeldScreen {
        let topic: String
        /// `focused` or `visible`; empty if it is not open.
        let state: String
        /// Why it is not open.
        let detail: String
    }

    let source: String
    let isFollowing: Bool
    let detail: String
    let configuration: String
    let rules: UInt32
    let windows: UInt32
    /// What locks or blanks the screen, so that no screen counts; empty: nothing.
    let obstacle: String
    /// The lockers that are noticed beside what tells logind; `nil`: an older notifyd-focus, which notices none.
    let lockers: [String]?
    /// `nil`: no window is focused, or this program is not to know.
    let focused: FocusedWindow?
    let screens: [HeldScreen]

    init(_ state: [String: Value]) {
        source = state["source"]?.string ?? ""
        isFollowing = state["following"]?.boolean ?? false
        detail = state["detail"]?.string ?? ""
        configuration = state["configuration"]?.string ?? ""
        rules = state["rules"]?.integer() ?? 0
        windows = state["windows"]?.integer() ?? 0
        obstacle = state["obstacle"]?.string ?? ""
        lockers = state["lockers"]?.elements?.compactMap(\.string)
        focused = state["app"]?.string.map { app in
            FocusedWindow(
                app: app, instance: state["instance"]?.string ?? "", title: state["title"]?.string ?? "",
                rule: state["rule"]?.integer(), topic: state["topic"]?.string)
        }
        screens = (state["screens"]?.elements ?? []).compactMap(\.elements).filter { $0.count >= 3 }.map {
            HeldScreen(topic: $0[0].string ?? "", state: $0[1].string ?? "", detail: $0[2].string ?? "")
        }
    }

    /// - Throws: if notifyd-focus does not run, or does not answer.
    static func ask(_ query: BusQuery) async throws(NotifyError) -> FocusInfo {
        FocusInfo(try await query.ask(name, path, name, "Get").first?.entries ?? [:])
    }

    /// Waits for another window to be focused.
    static func nextWindow(_ query: BusQuery, within limit: Duration) async throws(NotifyError) -> FocusedWindow {
        let milliseconds = UInt32(limit / .milliseconds(1))
        let answer = try await query.connection.call(
            .call("WaitForFocus", of: name, at: path, on: name, autoStart: false, [.uint32(milliseconds)]),
            timeout: limit + .seconds(5)
        ).arguments.map { $0.string ?? "" }
        return FocusedWindow(
            app: answer.first ?? "", instance: answer.count > 1 ? answer[1] : "",
            title: answer.count > 2 ? answer[2] : "",
            rule: nil, topic: nil)
    }

    /// Makes it read its configuration again.
    static func reload(_ query: BusQuery) async throws(NotifyError) {
        _ = try await query.ask(name, path, name, "Reload")
    }

    // MARK: Output

    var json: JSON {
        .object([
            ("source", .string(source)), ("following", .boolean(isFollowing)), ("detail", .string(detail)),
            ("configuration", .string(configuration)), ("rules", .integer(rules)), ("windows", .integer(windows)),
            ("obstacle", .string(obstacle)), ("lockers", .array((lockers ?? []).map(JSON.string))),
            (
                "focused",
                focused.map { window in
                    .object([
                        ("app", .string(window.app)), ("instance", .string(window.instance)),
                        ("title", .string(window.title)), ("rule", window.rule.map(JSON.integer) ?? .null),
                        ("topic", window.topic.map(JSON.string) ?? .null),
                    ])
                } ?? .null
            ),
            (
                "screens",
                .array(
                    screens.map { screen in
                        .object([
                            ("topic", .string(screen.topic)), ("state", .string(screen.state)),
                            ("detail", .string(screen.detail)),
                        ])
                    })
            ),
        ])
    }

    /// What it says of itself and of the focused window, in two columns.
    var rows: [[Cell]] {
        let hidden = [Cell("Hidden"), Cell("\(obstacle) is in front of all windows", .yellow)]
        return (obstacle.isEmpty ? [] : [hidden]) + [
            [Cell("Windows"), isFollowing ? Cell("\(windows), by \(source)", .green) : Cell(detail, .yellow)],
            [Cell("Rules"), Cell("\(rules) in \(configuration)")],
            [Cell("Focused"), Cell(focused.map { "\($0.names): \($0.title)" } ?? "no window")],
            [Cell("Rule"), Cell(focused.map(Self.words) ?? "none")],
        ]
    }

    private static func words(_ window: FocusedWindow) -> String {
        guard let rule = window.rule else { return "none fits" }
        return "\(rule): " + (window.topic ?? "what it takes from the title is no part of a topic")
    }

    /// A line for each screen.
    var screenCells: [[Cell]] {
        screens.map { screen in
            [
                Cell(screen.topic, .bold, isImportant: true),
                screen.state.isEmpty ? Cell("not open: \(screen.detail)", .yellow) : Cell(screen.state, .green),
            ]
        }
    }
}

extension FocusInfo.FocusedWindow {
    /// Both parts of `WM_CLASS` if they differ: either can be in a rule.
    var names: String {
        instance.isEmpty || instance.lowercased() == app.lowercased() ? app : "\(app) (\(instance))"
    }
}
