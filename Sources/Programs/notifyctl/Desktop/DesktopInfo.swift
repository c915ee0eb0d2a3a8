import DesktopEvents
import NotifyClient
import NotifyJSON

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
