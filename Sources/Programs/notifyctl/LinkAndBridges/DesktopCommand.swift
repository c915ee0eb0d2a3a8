import ArgumentParser
import DesktopEvents
import NotifyClient
import NotifyJSON
import StandardStreams
import TOMLTables

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

/// The file with the rules of notifyd-desktop.
struct DesktopFile {
    private let file: RuleFile

    init(_ path: String) {
        file = RuleFile(path: path)
    }

    private func parse(_ text: String) throws(ConfigurationError) -> DesktopRules {
        try TableReader.read(file: file.path, text: text, DesktopRules.read)
    }

    /// The rules in it.
    ///
    /// - Throws: the exit code, after its mistakes were told.
    func rules() throws -> DesktopRules { try file.read(parse).rules }

    /// Adds a rule at the end.
    ///
    /// - Parameter sighting: it fits the rule.
    func add(_ rule: LearnedRule, for sighting: DesktopInfo.Sighting) throws {
        let (old, rules) = try file.read(parse)
        if let fit = rules.decision(for: sighting.notice).rule {
            Terminal.complain(
                "Rule \(fit) in \(Terminal.plain(file.path)) fits this notification already, and the first that fits counts; "
                    + "nothing was changed.")
            throw ExitCode.refused
        }
        let (text, newRules) = try file.adding(rule.text, to: old, parse)
        guard newRules.decision(for: sighting.notice).rule != nil else {
            Terminal.complain(
                "A rule for this notification would not fit it: “\(Terminal.plain(sighting.notice.title))”. "
                    + "Nothing was changed.")
            throw ExitCode.badData
        }
        try file.write(text)
    }
}

/// How notifyd-desktop is, and what it has seen: `org.notifyd.Desktop1`.
struct DesktopInfo {
    static let name = BridgeInfo.prefix + "desktop"
    static let interface = "org.notifyd.Desktop1"

    /// A notification that came lately.
    struct Sighting {
        let notice: Notice
        /// The number of the rule that fits, from 1.
        let rule: UInt32?
        /// `nil` if it is no event.
        let topic: String?
        let isShared: Bool
        /// Why it is no event.
        let reason: String
        /// Microseconds since the epoch.
        let time: Int64

        init(_ entries: [String: Value]) {
            var notice = Notice()
            func text(_ name: String) -> String { entries[name]?.string ?? "" }
            (notice.app, notice.desktopEntry, notice.category) = (text("app"), text("desktop-entry"), text("category"))
            (notice.unit, notice.title) = (text("unit"), text("title"))
            self.notice = notice
            rule = entries["rule"]?.integer()
            topic = entries["topic"]?.string
            isShared = entries["share"]?.boolean ?? false
            reason = text("reason")
            time = entries["time"]?.integer() ?? 0
        }

        var program: String { notice.app.isEmpty ? notice.desktopEntry : notice.app }
    }

    let server: String
    let way: String
    let banners: UInt32
    let rules: UInt32
    let configuration: String
    /// The newest last.
    let sightings: [Sighting]

    /// - Throws: if notifyd-desktop does not run, or does not answer.
    static func ask(_ query: BusQuery) async throws(NotifyError) -> DesktopInfo {
        let state = try await query.ask(name, BridgeInfo.path, interface, "Get").first?.entries ?? [:]
        let list = try await query.ask(name, BridgeInfo.path, interface, "List").first?.elements ?? []
        return DesktopInfo(
            server: state["server"]?.string ?? "", way: state["way"]?.string ?? "",
            banners: state["banners"]?.integer() ?? 0, rules: state["rules"]?.integer() ?? 0,
            configuration: state["configuration"]?.string ?? "",
            sightings: list.compactMap(\.entries).map { Sighting($0) })
    }

    /// Waits for a notification.
    static func next(_ query: BusQuery, within limit: Duration) async throws(NotifyError) -> Sighting {
        let milliseconds = UInt32(limit / .milliseconds(1))
        let answer = try await query.connection.call(
            .call(
                "WaitForNotification", of: interface, at: BridgeInfo.path, on: name, autoStart: false,
                [.uint32(milliseconds)]),
            timeout: limit + .seconds(5))
        return Sighting(answer.arguments.first?.entries ?? [:])
    }

    /// Makes it read its configuration again.
    static func reload(_ query: BusQuery) async throws(NotifyError) {
        _ = try await query.ask(name, BridgeInfo.path, interface, "Reload")
    }

    // MARK: Output

    var json: JSON {
        .object([
            ("server", .string(server)), ("way", .string(way)), ("banners", .integer(banners)),
            ("rules", .integer(rules)), ("configuration", .string(configuration)),
            (
                "notifications",
                .array(
                    sightings.map { sighting in
                        .object([
                            ("app", .string(sighting.notice.app)),
                            ("desktop-entry", .string(sighting.notice.desktopEntry)),
                            ("category", .string(sighting.notice.category)), ("unit", .string(sighting.notice.unit)),
                            ("title", .string(sighting.notice.title)), ("time", .integer(sighting.time)),
                            ("rule", sighting.rule.map(JSON.integer) ?? .null),
                            ("topic", sighting.topic.map(JSON.string) ?? .null),
                            ("share", .boolean(sighting.isShared)), ("reason", .string(sighting.reason)),
                        ])
                    })
            ),
        ])
    }

    var text: String {
        let width = Terminal.size?.columns
        let now = Timestamp.now
        let rows = [
            [
                Cell("Server"),
                server.isEmpty ? Cell("there is none", .yellow) : Cell("\(server), seen by a \(way)", .green),
            ],
            [Cell("Rules"), Cell("\(rules) in \(configuration)")],
            [Cell("Banners"), Cell("\(banners) up")],
        ]
        var lines = Columns.wrapped(rows, within: width)
        guard !sightings.isEmpty else { return lines.joined(separator: "\n") }
        lines.append("Lately")
        lines += Columns.stackedLines(
            sightings.map { sighting in
                [
                    Cell(Timestamp(sighting.time).clock(seenAt: now), .dim),
                    Cell(sighting.topic ?? sighting.reason, sighting.topic == nil ? .yellow : .bold, isImportant: true),
                    Cell(sighting.rule.map { "rule \($0)" } ?? "no rule"),
                    Cell("\(sighting.program): \(sighting.notice.title)"),
                ]
            }, indentation: "  ", within: width)
        return lines.joined(separator: "\n")
    }
}
