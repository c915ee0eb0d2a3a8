import ArgumentParser
import NotifyClient
import NotifyText
import StandardStreams
import TOMLTables
import Watching

struct DesktopCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "desktop",
        abstract: "Show which notifications of programs came lately, which rule fits them, and their topics.",
        discussion: """
            notifyd-desktop makes events of the notifications that programs show by themselves, by the rules in \
            notifyd-desktop.toml(5).

            With --learn, have the program show a notification: a rule for it is added to desktop.toml. If TOPIC has a \
            name in braces, the room in the title (#general) or else the first number in it is what it stands for.

            Examples:
              notifyctl desktop
              notifyctl desktop --learn '/slack/{room}'
              notifyctl desktop --learn --keep 0
              notifyctl desktop --json=short | jq -r '.notifications[].topic'
            """)

    private static let keeps: ClosedRange<Duration> = .zero...DesktopRules.longestKeep

    @Flag(help: "Add a rule for the notification that comes next.") var learn = false

    @Argument(
        help: "With --learn, its topic; it may have one name in braces. (default: /app/NAME)",
        completion: Completion.prefixesToLearn)
    var topic: String?

    @Option(
        help: "With --learn, how long its text stays on disk; 0: its program is left alone. (default: 24h)",
        transform: DurationArgument.parse(keeps, in: .seconds(1)))
    var keep: Duration?

    @Flag(help: "With --learn, other devices get it too.") var share = false

    @Option(
        parsing: .unconditional, help: "With --learn, how long to wait for the notification. (default: 1m)",
        transform: DurationArgument.parse(Learning.times, in: .milliseconds(1)))
    var timeout: Duration?

    @OptionGroup var common: CommonOptions

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
        try await bus.withQuery(of: "notifyd-desktop", .desktop) { query in
            let info = try await DesktopInfo.ask(query)
            if learn { return try await learn(info, query) }
            output.write(info.json, text: info.text)
        }
    }

    /// Waits for a notification, adds a rule for it, and has notifyd-desktop read it.
    private func learn(_ info: DesktopInfo, _ query: BusQuery) async throws {
        let file = RuleFile(path: info.configuration) { text, file throws(ConfigurationError) in
            try TableReader.read(file: file, text: text, DesktopRules.read)
        }
        _ = try file.read()
        StandardStreams.complain("Have the program show a notification.")
        let sighting = try await DesktopInfo.next(query, within: timeout ?? Learning.usualTime)
        let notice = sighting.notice
        let rule = try LearnedRule(for: sighting, topic: topic, keep: keep, isShared: share)
        try file.add(
            rule, for: "notification", fit: { $0.decision(for: notice).rule },
            flaw: {
                $0.decision(for: notice).rule == nil
                    ? "A rule for this notification would not fit it: “\(notice.title)”." : nil
            })
        _ = try await query.ask(.desktop, "Reload")
        Learning.announce(rule, in: info.configuration, output)
    }
}

/// The state of notifyd-desktop, and what it has seen: `org.notifyd.Desktop1`.
struct DesktopInfo {
    /// A notification that came lately.
    struct Sighting {
        let entries: [String: Value]

        var notice: Notice {
            var notice = Notice()
            (notice.app, notice.desktopEntry) = (entries.text("app"), entries.text("desktop-entry"))
            (notice.category, notice.unit) = (entries.text("category"), entries.text("unit"))
            notice.title = entries.text("title")
            return notice
        }
        var program: String { entries.text("app").isEmpty ? entries.text("desktop-entry") : entries.text("app") }

        var json: JSON {
            .object(
                entries.members([
                    "app": "", "desktop-entry": "", "category": "", "unit": "", "title": "", "time": 0, "rule": nil,
                    "topic": nil, "share": false, "reason": "",
                ]))
        }

        /// An event has a topic; anything else has a reason instead.
        func cells(at now: Int64) -> [Cell] {
            let rule: UInt32? = entries["rule"]?.integer()
            let topic = entries["topic"]?.string
            return [
                Cell(Timestamp(entries.number("time")).clock(seenAt: now), .dim),
                Cell(topic ?? entries.text("reason"), topic == nil ? .yellow : .bold, isImportant: true),
                Cell(rule.map { "rule \($0)" } ?? "no rule"), Cell("\(program): \(entries.text("title"))"),
            ]
        }
    }

    private let state: [String: Value]
    /// The newest last.
    private let sightings: [Sighting]

    var configuration: String { state.text("configuration") }

    /// - Throws: if notifyd-desktop does not run, or does not answer.
    static func ask(_ query: BusQuery) async throws(NotifyError) -> DesktopInfo {
        let state = try await query.ask(.desktop, "Get").first?.entries ?? [:]
        let list = try await query.ask(.desktop, "List").first?.elements ?? []
        return DesktopInfo(state: state, sightings: list.compactMap(\.entries).map(Sighting.init))
    }

    /// Waits for a notification.
    static func next(_ query: BusQuery, within limit: Duration) async throws(NotifyError) -> Sighting {
        let answer = try await query.ask(
            .desktop, "WaitForNotification", [.milliseconds(limit)], within: limit + .seconds(5))
        return Sighting(entries: answer.first?.entries ?? [:])
    }

    // MARK: Output

    var json: JSON {
        .object(
            state.members(["server": "", "way": "", "banners": 0, "rules": 0, "configuration": ""])
                + JSON.members(["notifications": sightings.map(\.json)]))
    }

    var text: String {
        let width = Terminal.size?.columns
        let now = Timestamp.now
        let server = state.text("server")
        let (rules, banners): (UInt32, UInt32) = (state.number("rules"), state.number("banners"))
        let rows = [
            [
                Cell("Server"),
                server.isEmpty
                    ? Cell("there is none", .yellow) : Cell("\(server), seen by a \(state.text("way"))", .green),
            ],
            [Cell("Rules"), Cell("\(rules) in \(configuration)")],
            [Cell("Banners"), Cell("\(banners) up")],
        ]
        let heading = sightings.isEmpty ? [] : ["Lately"]
        return
            (Columns.wrapped(rows, within: width) + heading
            + Columns.stackedLines(sightings.map { $0.cells(at: now) }, indentation: "  ", within: width))
            .joined(separator: "\n")
    }
}
