import NotifyClient
import NotifyJSON

extension Activity {
    func json(at now: Duration) -> JSON {
        var members: [(String, JSON)] = [("running", .boolean(health != nil))]
        if let health {
            members += [
                ("version", .string(health.version)), ("paused", .boolean(health.isPaused)),
                ("quiet", .array(health.quiet.map(\.json))), ("degraded", .string(health.degradation)),
                ("pending", .integer(health.pending)),
            ]
        }
        return .object(
            members + [
                ("windows", .array(windows(at: now).map { $0.json(at: now) })),
                ("screens", .array((health?.screens ?? []).map { $0.json(health?.programs ?? [:]) })),
                ("outcomes", .array(decisions.map { $0.json(at: now) })),
                ("rates", rates?.json ?? .null),
                ("ClaimLatency", recentClaims.flatJSON),
            ])
    }
}

extension Activity.Window {
    fileprivate func json(at now: Duration) -> JSON {
        .object([
            ("topic", .string(topic)), ("events", .array(events.sorted().map { .integer($0.rawValue) })),
            ("window", .milliseconds(length)), ("left", .microseconds(left(at: now))), ("waiting", .boolean(isWaiting)),
        ])
    }
}

extension Activity.Decision {
    fileprivate func json(at now: Duration) -> JSON {
        .object(
            [("id", .integer(outcome.id.rawValue)), ("topic", .string(outcome.topic))] + outcome.members
                + [("ago", .microseconds(now - time))])
    }
}

extension Rates.PerSecond {
    fileprivate var json: JSON {
        .object([
            ("events", .number("\(events)")), ("claimed", .number("\(claimed)")), ("banners", .number("\(banners)")),
        ])
    }
}
