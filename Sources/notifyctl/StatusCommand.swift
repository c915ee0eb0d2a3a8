import ArgumentParser
import NotifyClient

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Say whether notifyd runs, and how it is doing.",
        discussion: "Starts nothing. Exit code 69 if there is no daemon.")

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingFailures {
            let client = try await bus.connect()
            let properties = try await client.properties()
            let canShow = try await client.hasNotificationServer()
            output.write(
                json(properties, canShow), text: table(properties, canShow))
        }
    }

    private func json(_ properties: [String: Value], _ canShow: Bool) -> JSON {
        let own = properties.sorted { $0.key < $1.key }.map { ($0.key, JSON($0.value)) }
        return .object(own + [("NotificationServer", .bool(canShow))])
    }

    private func table(_ properties: [String: Value], _ canShow: Bool) -> String {
        var rest = properties
        func take(_ name: String) -> Value? { rest.removeValue(forKey: name) }

        let version = take("Version")?.string ?? "of an unknown version"
        var rows: [(String, String)] = []
        if let degraded = take("Degraded")?.string, !degraded.isEmpty { rows.append(("Degraded", degraded)) }
        if let paused = take("Paused")?.boolean { rows.append(("Banners", paused ? "paused" : "on")) }
        rows.append(
            ("Notification server", canShow ? "present" : "none: what is not claimed waits until one starts"))
        if let window: UInt32 = take("DefaultWindowMilliseconds")?.integer() {
            rows.append(("Default window", Duration.milliseconds(window).shortFigure))
        }
        if let pending: Int = take("Pending")?.integer() { rows.append(("Pending events", "\(pending)")) }
        let statistics = take("Statistics")?.entries ?? [:]
        for (name, value) in rest.sorted(by: { $0.key < $1.key }) { rows.append((name, Text(value).text)) }

        var lines = [Terminal.bold("notifyd \(Terminal.plain(version)) is running")] + aligned(rows)
        if !statistics.isEmpty {
            lines += ["", Terminal.bold("Since its start")]
            lines += aligned(statistics.sorted { $0.key < $1.key }.map { ($0.key, Text($0.value).text) })
        }
        return lines.joined(separator: "\n")
    }

    private func aligned(_ rows: [(String, String)]) -> [String] {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in
            "  " + Terminal.plain(name) + String(repeating: " ", count: width - name.count + 2) + Terminal.plain(value)
        }
    }
}
