import ArgumentParser
import NotifyClient
import NotifyJSON
import NotifyVersion

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show whether notifyd runs, and its state.",
        discussion: """
            Does not start notifyd. Exit code 69 if there is no daemon, 78 if it cannot start because of a mistake in \
            its configuration.

            Examples:
              notifyctl status
              notifyctl status --json=short | jq .NotificationServer
            """)

    @OptionGroup var session: SessionOptions
    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try session.enter(bus)
        let client = try await bus.connect(starting: false, reading: true)
        let screens = try await client.screens()
        var owners = ScreenOwners()
        await owners.update(screens, client)
        let status = Status(
            properties: try await client.properties(), screens: screens, programs: owners.programs,
            canShow: try await client.hasNotificationServer(),
            recent: RecentClaims(await RecentClaims.answers(client)), bridges: await bridges())
        output.write(status.json, text: status.text)
    }

    private func bridges() async -> [BridgeInfo] {
        guard let address = bus.address ?? NotifyClient.sessionBusAddress,
            let connection = try? await Connection.open(address)
        else { return [] }
        defer { connection.close() }
        return await BridgeInfo.all(BusQuery(connection: connection))
    }
}

/// The daemon's properties, for people and for programs.
struct Status {
    private static let gauges: Set = [
        "open-windows", "open-screens", "remembered-events", "notification-server", "notification-server-rests",
        "notification-server-silent",
        "session-watched", "session-known", "stored-events", "waiting-banners", "awaited-fill",
        "log-sync-microseconds", "log-waiting-bytes", "log-written",
    ]

    let properties: [String: Value]
    let screens: [ListedScreen]
    let programs: [String: String]
    let canShow: Bool
    let recent: RecentClaims
    let bridges: [BridgeInfo]

    private var statistics: [String: UInt64] {
        (properties["Statistics"]?.entries ?? [:]).compactMapValues { $0.integer() }
    }

    var json: JSON {
        .object(
            properties.sorted { $0.key < $1.key }.map { name, value in
                (name, name == "Quiet" ? .array(quiet.map(\.json)) : JSON(value))
            } + [
                ("NotificationServer", .string(server.word)), ("Screens", .array(screens.map { $0.json(programs) })),
                ("ClaimLatency", recent.json), ("Bridges", .array(bridges.map(\.json))),
                ("ClientVersion", .string(projectVersion)),
            ])
    }

    var text: String {
        var rest = properties
        rest["Statistics"] = nil
        let statistics = statistics
        let version = rest.removeValue(forKey: "Version")?.string ?? "of an unknown version"
        var rows: [(String, String)] = []
        if let degraded = rest.removeValue(forKey: "Degraded")?.string, !degraded.isEmpty {
            rows.append(("Degraded", degraded))
        }
        if let paused = rest.removeValue(forKey: "Paused")?.boolean {
            let state = quiet.pause?.words() ?? "paused"
            rows.append(
                (
                    "Banners",
                    paused ? "\(state): “notifyctl resume” lets them appear again" : quiet.desktop ?? "on"
                ))
        }
        rest["Quiet"] = nil
        if let mutes = quiet.mutes() { rows.append(("Muted", mutes)) }
        rows.append(("Notification server", server.sentence))
        if statistics["session-known"] == 0 {
            rows.append(
                (
                    "Session",
                    "not watched: there is no logind that knows a session of yours at a seat, so screens always count"
                ))
        } else if let watched = statistics["session-watched"] {
            rows.append(
                ("Session", watched == 1 ? "watched: screens count" : "locked or idle: every screen counts as hidden"))
        }
        if let window: UInt32 = rest.removeValue(forKey: "DefaultWindowMilliseconds")?.integer() {
            rows.append(("Default window", Duration.milliseconds(window).shortText))
        }
        if let pending: Int = rest.removeValue(forKey: "Pending")?.integer() {
            rows.append(("Undecided events", "\(pending)"))
        }
        if let held = statistics["remembered-events"] { rows.append(("Events in memory", "\(held)")) }
        if let windows = statistics["open-windows"] { rows.append(("Open windows", "\(windows)")) }
        if let waiting = statistics["waiting-banners"], waiting > 0 { rows.append(("Waiting banners", "\(waiting)")) }
        if let stored = statistics["stored-events"] { rows.append(("Stored events", "\(stored)")) }
        if let log = JournalLog(statistics) { rows.append(("Log", log.sentence())) }
        rows.append(("Open screens", "\(screens.count)"))
        for bridge in bridges {
            let letters = bridge.deadLetters
            rows.append(
                (
                    "Bridge \(bridge.name)",
                    bridge.fullWords + (letters > 0 ? ", \(letters) dead letter\(letters == 1 ? "" : "s")" : "")
                ))
        }
        if version != projectVersion { rows.append(("notifyctl", projectVersion)) }
        for (name, value) in rest.sorted(by: { $0.key < $1.key }) { rows.append((name, value.text)) }

        let width = Terminal.size?.columns
        func table(_ rows: [[Cell]]) -> [String] { Columns.stackedLines(rows, indentation: "  ", within: width) }
        func sentences(_ rows: [(String, String)]) -> [String] {
            Columns.wrapped(rows.map { [Cell($0), Cell($1)] }, indentation: "  ", within: width)
        }
        var lines = [Terminal.bold("notifyd \(Terminal.plain(version)) is running")]
        lines += sentences(rows)
        if !screens.isEmpty {
            lines += ["", Terminal.bold("Screens")]
            lines += table(screens.map { $0.cells(programs) })
        }
        if !recent.rows.isEmpty {
            lines += ["", Terminal.bold("Recent claims")]
            lines += sentences(recent.rows)
        }
        // Counters that are 0 are left out; --json has all.
        let happened = statistics.filter { $0.value > 0 && !Self.gauges.contains($0.key) }.sorted { $0.key < $1.key }
        if !happened.isEmpty {
            lines += ["", Terminal.bold("Since its start")]
            lines += table(happened.map { [Cell($0.key), .number("\($0.value)")] })
        }
        return lines.joined(separator: "\n")
    }

    private var quiet: [Quiet] { Quiet.list(properties["Quiet"]) }

    /// A server that has not answered for so many seconds hangs.
    private static let longSilence: UInt64 = 2

    private var server: (word: String, sentence: String) {
        if !canShow { return ("absent", "none runs: unclaimed events wait for one; the bus starts it if it can") }
        let silence = statistics["notification-server-silent"] ?? 0
        if silence >= Self.longSilence {
            let time = Duration.seconds(Int64(clamping: silence)).displayText
            return ("silent", "there, but it has not answered for \(time): banners wait")
        }
        if statistics["notification-server-rests"] == 1 {
            return ("resting", "there, but it has failed several times: banners wait a while before it is tried again")
        }
        return ("present", "there")
    }
}
