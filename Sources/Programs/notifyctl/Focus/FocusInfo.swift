import NotifyClient
import NotifyJSON

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
