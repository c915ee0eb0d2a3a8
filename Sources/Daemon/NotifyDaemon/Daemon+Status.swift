import Journal
import Logging
import Routing

/// Status line, statistics and log records.
extension Daemon {
    /// One line for `systemctl status`.
    var status: String {
        if !storage.degradation.isEmpty { return "Degraded: \(storage.degradation)" }
        return server.owner == nil ? "Routing; no notification server is there, banners wait" : "Routing"
    }

    var statistics: [(String, UInt64)] {
        router.statistics.all + [
            ("open-windows", UInt64(router.openWindows)), ("open-screens", UInt64(router.screenCount)),
            ("remembered-events", UInt64(router.rememberedEvents)), ("stored-events", UInt64(storage.storedEvents)),
            ("damaged-rows", storage.damagedRows), ("lost-outcomes", storage.lostOutcomes),
            ("awaited-events", UInt64(router.awaitedCount)), ("awaited-fill", UInt64(router.awaitedFill)),
            ("waiting-signals", UInt64(outbox.signals.count)),
            ("waiting-banners", UInt64(router.waitingBanners)),
            ("journal-retries", storage.retries),
            ("log-sync-microseconds", UInt64(max(0, storage.journal.syncTime?.microseconds ?? 0))),
            ("log-waiting-bytes", UInt64(storage.journal.waitingBytes)),
            ("log-written", UInt64(max(0, storage.journal.lastWritten ?? 0))),
            ("marked-read", jobs.marks.marked),
            ("denied", denials), ("failed-commands", host.failedCommands),
            ("server-start-failures", server.startFailures), ("notification-server", server.owner == nil ? 0 : 1),
            ("notification-server-rests", router.isServerCircuitOpen ? 1 : 0),
            ("notification-server-silent", UInt64(max(0, server.silence.components.seconds))),
            ("session-watched", router.isWatched ? 1 : 0),
            ("session-known", host.knowsSession ? 1 : 0),
        ]
    }

    func log(_ event: Event) {
        logger.record(
            .event,
            [
                "event.id": "\(event.id)", "topic": "\(event.topic)",
                "sender": "\(event.sender)", "route": "\(event.route.name)",
            ])
    }

    func log(_ name: String, _ caller: Caller) { logger.record(.caller, ["sender": "\(name)", "caller": "\(caller)"]) }

    /// The rule that denies a request of a caller, which is counted and logged.
    func denyingRule(for request: AccessRequest, to caller: Caller, _ name: String) -> PolicyRule? {
        guard let rule = policy.denyingRule(for: request, to: caller) else { return nil }
        denials += 1
        logger.record(.denied, ["sender": "\(name)", "deed": "\(request)", "rule": "\(rule)"])
        return rule
    }

    func log(_ id: EventID, _ topic: Topic, _ resolution: Resolution) {
        logger.record(
            .outcome,
            [
                "event.id": "\(id)", "topic": "\(topic)",
                "outcome": "\(resolution.outcome.rawValue)", "claimant": "\(resolution.claimant ?? "-")",
            ])
    }
}
