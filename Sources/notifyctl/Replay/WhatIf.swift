import Routing

/// What another window, or another configuration, would have changed.
struct WhatIf {
    private let pushes: [RecordedPush]
    private let window: Duration?
    private let before: Simulation.Result
    private let after: Simulation.Result

    /// - Parameters:
    ///   - routes: those of another configuration; `nil`: those of the record.
    ///   - window: for all events; `nil`: what the routes say.
    init(_ pushes: [RecordedPush], routes: RouteTable? = nil, window: Duration?) throws {
        self.pushes = pushes.filter(\.wasAwaited)
        self.window = window
        before = try Simulation.run(pushes)
        after = try Simulation.run(pushes, routes: routes, window: window)
    }

    /// Events that would have been shown and were not.
    var more: [RecordedPush] { pushes.filter { after.shown.contains($0.id) && !before.shown.contains($0.id) } }
    /// Events that were shown and would not have been.
    var fewer: [RecordedPush] { pushes.filter { before.shown.contains($0.id) && !after.shown.contains($0.id) } }
    var latencies: Latencies { Latencies(pushes.compactMap(\.answerLatency)) }

    /// How many events came out of the replay with their own windows as they came out in fact.
    private var agreeing: Int { pushes.count { before.claimed.contains($0.id) == ($0.outcome == "claimed") } }

    var text: String {
        var lines = [
            "\(pushes.count) events with a window, \(pushes.count { $0.latency != nil }) of them claimed.", "",
            "                    as it was  with " + (window?.shortFigure ?? "it"),
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
        if agreeing < pushes.count {
            lines += [
                "",
                "Played with its own windows, the record comes out as it was for \(agreeing) of \(pushes.count) events; "
                    + "provisional claims, routes that wait for screens only, and restarts are not in the record.",
            ]
        }
        return lines.joined(separator: "\n")
    }

    private func row(_ name: String, _ before: Int, _ after: Int) -> String {
        func padded(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        return "  " + name + padded("\(before)", 27 - name.count) + padded("\(after)", 11)
    }

    private func list(_ title: String, _ pushes: [RecordedPush]) -> [String] {
        if pushes.isEmpty { return [] }
        let lines = pushes.prefix(20).map { push in
            "  \(push.id)  \(Terminal.plain(push.topic))"
                + (push.latency.map { "  claimed after \($0.figure)" } ?? "  not claimed")
        }
        return ["", Terminal.bold(title)] + lines + (pushes.count > 20 ? ["  … and \(pushes.count - 20) more"] : [])
    }

    var json: JSON {
        func ids(_ pushes: [RecordedPush]) -> JSON { .array(pushes.map { .integer($0.id) }) }
        func counts(_ result: Simulation.Result) -> JSON {
            .object([
                ("banners", .integer(result.banners)), ("shown", .integer(result.shown.count)),
                ("claimed", .integer(result.claimed.count)),
            ])
        }
        return .object(
            [
                ("events", .integer(pushes.count)), ("window", window.map { .milliseconds($0) } ?? .null),
                ("before", counts(before)),
                ("after", counts(after)), ("more", ids(more)), ("fewer", ids(fewer)), ("latency", latencies.json),
                ("agreeing", .integer(agreeing)),
            ] + latencies.windows)
    }
}
