import ArgumentParser
import NotifyClient
import NotifyText

struct StatusCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show whether notifyd runs, and its state.",
        discussion: """
            Does not start notifyd. Exit code 69 if there is no daemon, 78 if it cannot start because of a mistake in \
            its configuration.

            Examples:
              notifyctl status
              notifyctl status --json=short | jq .NotificationServer
            """)

    @OptionGroup var session: SessionOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try session.enter(bus)
        let client = try await bus.connect(starting: false, reading: true)
        let screens = try await client.screens()
        var owners = ScreenOwners()
        await owners.update(screens, client)
        let status = Status(
            properties: try await client.properties(), screens: screens, programs: owners.programs,
            canShow: try await client.hasNotificationServer(),
            recent: RecentClaims(await RecentClaims.answers(client)),
            bridges: (try? await bus.withQuery { await BridgeInfo.all($0) }) ?? [])
        output.write(status.json, text: status.text)
    }
}

/// The daemon's properties, for people and for programs.
struct Status {
    private static let gauges: Set = [
        "open-windows", "open-screens", "remembered-events", "notification-server", "notification-server-rests",
        "notification-server-silent",
        "session-watched", "session-known", "stored-events", "waiting-banners", "awaited-events", "awaited-fill",
        "log-sync-microseconds", "log-waiting-bytes", "log-written",
    ]

    let properties: [String: Value]
    let screens: [ListedScreen]
    let programs: [String: String]
    let canShow: Bool
    let recent: RecentClaims
    let bridges: [BridgeInfo]

    var json: JSON {
        .object(
            properties.sorted { $0.key < $1.key }.map { name, value in
                (name, name == "Quiet" ? .array(properties.quiet.map(\.json)) : value.json)
            } + [
                ("NotificationServer", .string(server.word)), ("Screens", .array(screens.map { $0.json(programs) })),
                ("ClaimLatency", recent.json), ("Bridges", .array(bridges.map(\.json))),
                ("ClientVersion", .string(projectVersion)),
            ])
    }

    var text: String {
        var rest = properties
        rest["Statistics"] = nil
        let (statistics, quiet) = (properties.statistics, properties.quiet)
        let version = rest.removeValue(forKey: "Version")?.string ?? "of an unknown version"
        var rows: [(String, String)] = []
        func add(_ name: String, _ text: String?) { if let text { rows.append((name, text)) } }
        add("Degraded", rest.removeValue(forKey: "Degraded")?.string.flatMap { $0.isEmpty ? nil : $0 })
        add(
            "Banners",
            rest.removeValue(forKey: "Paused")?.boolean.map { paused in
                paused
                    ? "\(quiet.pause?.words() ?? "paused"): “notifyctl resume” lets them appear again"
                    : quiet.desktop ?? "on"
            })
        rest["Quiet"] = nil
        add("Muted", quiet.mutes())
        add("Notification server", server.sentence)
        let unwatched =
            "not watched: there is no logind that knows a session of yours at a seat, so screens always count"
        let watching = statistics["session-watched"].map { flag in
            flag == 1 ? "watched: screens count" : "locked or idle: every screen counts as hidden"
        }
        add("Session", statistics["session-known"] == 0 ? unwatched : watching)
        let window: UInt32? = rest.removeValue(forKey: "DefaultWindowMilliseconds")?.integer()
        add("Default window", window.map { Duration.milliseconds($0).shortText })
        add("Undecided events", rest.removeValue(forKey: "Pending")?.integer().map { (count: Int) in "\(count)" })
        for (title, name) in [
            ("Events in memory", "remembered-events"), ("Open windows", "open-windows"),
            ("Waiting banners", "waiting-banners"), ("Stored events", "stored-events"),
        ] {
            if let count = statistics[name], count > 0 || name != "waiting-banners" { add(title, "\(count)") }
        }
        add("Log", JournalLog(statistics)?.sentence())
        add("Open screens", "\(screens.count)")
        for bridge in bridges {
            let letters = bridge.deadLetters
            add(
                "Bridge \(bridge.name)",
                bridge.fullWords + (letters > 0 ? ", " + letters.counting("dead letter") : ""))
        }
        if version != projectVersion { add("notifyctl", projectVersion) }
        for (name, value) in rest.sorted(by: { $0.key < $1.key }) { add(name, value.text) }

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

    /// A server that has not answered for so many seconds hangs.
    private static let longSilence: UInt64 = 2

    private var server: (word: String, sentence: String) {
        if !canShow { return ("absent", "none runs: unclaimed events wait for one; the bus starts it if it can") }
        let statistics = properties.statistics
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

/// The latencies of the claims that answered the newest events, in total and by claimant. A screen that is opened a
/// minute after an event, or a claim in the inbox by then, closes its banner, but does not answer it.
struct RecentClaims: Sendable {
    struct Answer: Sendable {
        let id: EventID
        let by: String
        let after: Duration
        let program: String?
    }

    /// Limits that keep `status` fast: the number of events that are read, and the number of them that are explained.
    private static let events = 5_000
    static let explained = 2_000
    /// Claimants with a single claim, such as commands, are counted together.
    private static let namedClaimants = 5

    private let all: Latencies
    /// Those with the most claims come first.
    private let claimants: [(name: String, latencies: Latencies)]
    private let rest: Int
    /// The programs of claimants, by unique name.
    private let programs: [String: String]

    /// Reads the answers to the newest events. Empty if the daemon cannot read its journal, so that `status` still
    /// works.
    static func answers(_ client: NotifyClient) async -> [Answer] {
        do {
            let history = HistoryReader(client: client, topic: "/")
            let recent = try await history.last(events, readingAtMost: events)
            let claimed = recent.filter { $0.outcome == .claimed || $0.outcome == .retracted }
            let ids = claimed.suffix(explained).map(\.event.id)
            return try await history.explanations(of: ids).flatMap { explanation in
                explanation.answers.compactMap { claim in
                    claim.after.map { Answer(id: explanation.id, by: claim.by, after: $0, program: claim.program) }
                }
            }
        } catch {
            return []
        }
    }

    init(_ answers: [Answer]) {
        let named = answers.compactMap { answer in answer.program.map { (answer.by, $0) } }
        programs = Dictionary(named) { _, last in last }
        all = Latencies(answers.map(\.after))
        let groups = Dictionary(grouping: answers, by: \.by).sorted {
            ($1.value.count, $0.key) < ($0.value.count, $1.key)
        }
        claimants = groups.prefix(Self.namedClaimants).map { ($0.key, Latencies($0.value.map(\.after))) }
        rest = groups.count - claimants.count
    }

    var rows: [(String, String)] {
        guard let line = all.line else { return [] }
        let some = claimants.compactMap { claimant in
            claimant.latencies.line.map { (Claimant.text(claimant.name, programs[claimant.name]), $0) }
        }
        return [("all", line)] + (claimants.count > 1 ? some : []) + (rest > 0 ? [("and \(rest) more", "")] : [])
            + [("window that would have sufficed", all.windowText)]
    }

    var json: JSON { .object(members) }

    /// With the members of all claims once more, as earlier versions of `top` have them.
    var flatJSON: JSON { .object(all.members + members) }

    private var members: [(String, JSON)] {
        [
            ("all", all.json), ("claimants", .object(claimants.map { ($0.name, $0.latencies.json) })),
            ("more-claimants", .integer(rest)),
        ] + all.windows
    }
}

/// What the log of the journal does, as notifyd counts it.
struct JournalLog {
    /// How long it took to sync a write to the disk: the median of the last ones.
    let sync: Duration
    /// How many bytes of it are not in the index yet.
    let waiting: UInt64
    /// When it was last written, in microseconds since the epoch; `nil`: never.
    let written: Int64?

    /// - Returns: `nil` if notifyd tells nothing about it.
    init?(_ statistics: [String: UInt64]) {
        guard let sync = statistics["log-sync-microseconds"], let waiting = statistics["log-waiting-bytes"],
            let written = statistics["log-written"]
        else { return nil }
        self.sync = .microseconds(Int64(clamping: sync))
        self.waiting = waiting
        self.written = written > 0 ? Int64(clamping: written) : nil
    }

    /// Such as `1.2 ms a write, 14 KiB wait for the index, written 3 s ago`.
    func sentence(at now: Int64 = Timestamp.now) -> String {
        guard let written else { return "not written yet" }
        let amount = waiting == 0 ? "nothing waits" : waiting == 1 ? "1 byte waits" : "\(Self.size(waiting)) wait"
        return "\(sync.displayText) a write, \(amount) for the index, written \(Timestamp(written).text(seenAt: now))"
    }

    private static func size(_ bytes: UInt64) -> String {
        switch bytes {
        case ..<1024: "\(bytes) bytes"
        case ..<(1 << 20): "\(bytes >> 10) KiB"
        default: "\(bytes >> 20) MiB"
        }
    }

    private static let slow = Duration.milliseconds(20)

    /// What `doctor` says.
    func finding(at now: Int64 = Timestamp.now) -> Finding {
        let state = "its log: \(sentence(at: now))"
        guard written != nil, sync > Self.slow else { return .ok(JournalCheck.check, state) }
        return .warning(
            JournalCheck.check, state,
            "A publisher waits that long for its reply. See whether other programs keep the disk busy (cat "
                + "/proc/pressure/io) or it is failing (smartctl -H). XDG_STATE_HOME puts the journal on another one.")
    }
}
