import NotifyJSON
import Routing

/// The differences that another window or configuration would have made.
struct ReplayReport {
    private let events: [ReplayEvent]
    private let window: Duration?
    private let before: Simulation.Result
    private let after: Simulation.Result

    /// - Parameters:
    ///   - routes: those of another configuration; `nil`: those of the record.
    ///   - present: those under which the events were recorded; `nil`: unknown.
    ///   - window: for all events; `nil`: what publishers and routes say.
    init(
        _ events: [ReplayEvent], routes: RouteTable? = nil, present: RouteTable? = nil, window: Duration?
    ) throws {
        self.events = try events.filter { try $0.isAwaited(by: routes) }
        self.window = window
        before = try Simulation.run(events)
        after = try Simulation.run(events, routes: routes, present: present, window: window)
    }

    /// Events that would have been shown and were not.
    var more: [ReplayEvent] { events.filter { after.shown.contains($0.id) && !before.shown.contains($0.id) } }
    /// Events that were shown and would not have been.
    var fewer: [ReplayEvent] { events.filter { before.shown.contains($0.id) && !after.shown.contains($0.id) } }
    var latencies: Latencies { Latencies(events.compactMap(\.answerLatency)) }

    /// How many events had the recorded outcome in a replay with the recorded windows.
    private var agreeing: Int { awaited.count { before.claimed.contains($0.id) == ($0.outcome == "claimed") } }
    /// The events without those that were muted and would not be.
    private var awaited: [ReplayEvent] { events.filter(\.wasAwaited) }

    var text: String {
        let inTime = events.count { $0.outcome == "claimed" }
        let late = events.count { $0.outcome != "claimed" && $0.latency != nil }
        var lines = [
            "\(events.count) events with a window: \(inTime) claimed in time, \(late) claimed later, "
                + "\(events.count - inTime - late) not claimed.", "",
            "                    as it was  with " + (window?.shortText ?? "it"),
            row("banners", before.banners, after.banners), row("events shown", before.shown.count, after.shown.count),
            row("claimed in time", before.claimed.count, after.claimed.count),
        ]
        lines += list("Would have been shown:", more) + list("Would not have been shown:", fewer)
        if latencies.count > 0 {
            lines.append("")
            for percent in [95, 99] {
                let window = latencies.windowText(catching: percent)
                lines.append("The smallest window that would have caught \(percent) of 100 claims: \(window)")
            }
        }
        if agreeing < awaited.count {
            lines += [
                "",
                "Played with its own windows, the record comes out as it was for \(agreeing) of \(awaited.count) events; "
                    + "routes that wait for screens only, holds that were not confirmed, snoozes, banners that waited for a "
                    + "notification server, and restarts are not replayed.",
            ]
        }
        return lines.joined(separator: "\n")
    }

    private func row(_ name: String, _ before: Int, _ after: Int) -> String {
        "  " + name + "\(before)".padded(to: 27 - name.count) + "\(after)".padded(to: 11)
    }

    private func list(_ title: String, _ events: [ReplayEvent]) -> [String] {
        if events.isEmpty { return [] }
        let lines = events.prefix(20).map { event in
            "  \(event.id)  \(Terminal.plain(event.topic))"
                + (event.latency.map { "  claimed after \($0.displayText)" } ?? "  not claimed")
        }
        return ["", Terminal.bold(title)] + lines + (events.count > 20 ? ["  … and \(events.count - 20) more"] : [])
    }

    var json: JSON {
        func ids(_ events: [ReplayEvent]) -> JSON { .array(events.map { .integer($0.id) }) }
        func counts(_ result: Simulation.Result) -> JSON {
            .object([
                ("banners", .integer(result.banners)), ("shown", .integer(result.shown.count)),
                ("claimed", .integer(result.claimed.count)),
            ])
        }
        return .object(
            [
                ("events", .integer(events.count)), ("window", window.map { .milliseconds($0) } ?? .null),
                ("before", counts(before)),
                ("after", counts(after)), ("more", ids(more)), ("fewer", ids(fewer)), ("latency", latencies.json),
                ("agreeing", .integer(agreeing)),
            ] + latencies.windows)
    }
}
