@testable import Routing

/// What must hold in the router's own tables, whatever happens.
extension Router {
    /// - Parameters:
    ///   - longest: how long a window for a topic may be open.
    ///   - lastReplay: when an event of an earlier run was last announced again: such a one keeps its window open for
    ///     its own whole length.
    /// - Returns: the promise that is broken, if one is.
    func brokenPromise(lastReplay: Instant? = nil, longest: (Topic) -> Duration) -> String? {
        limitThatIsExceeded() ?? tableThatDisagrees() ?? windowThatIsTooLong(
            longest, lastReplay)
            ?? bannerThatIsStuck()
    }

    /// What connections had before their programs were known, and what is still to come of earlier runs, may be more
    /// than a program's own share.
    ///
    private func limitThatIsExceeded() -> String? {
        let sizes: [(String, Int, Int)] = [
            ("undecided events", events.undecided.total.count, limits.undecidedEvents),
            ("bytes of undecided events", events.undecided.total.bytes, limits.undecidedBytes),
            ("bytes of current values", names.values.bytes, limits.valueBytes),
            ("bytes of shown events", events.retractableBytes, limits.retractableBytes),
            ("questions", screens.questions, limits.questions + limits.screens),
            ("screens", screens.count, limits.screens),
            ("graces", screens.graces.count, limits.graces),
            ("provisional claims", screens.holds.count, limits.holds),
            ("bytes of awaited events", names.awaited.bytes, limits.awaitedBytes),
            ("mutes", quietPeriods.all.count { $0.cause == .muted }, limits.mutes),
            ("values", names.values.count, limits.values),
            ("removals", names.values.removals.count, limits.removals),
            ("shown events", events.retractable.count, limits.retractableEvents),
            ("snoozed events", quietPeriods.snoozes.count, limits.snoozes),
            ("owed digests", quietPeriods.digests.owed.count, limits.digests),
            ("awaited events", names.awaited.count, limits.awaited),
            ("events", events.count, limits.undecidedEvents + limits.retractableEvents + limits.snoozes),
            ("global ids", names.deduplicator.count, limits.globalIDs),
            ("timed-out calls", banners.server.timedOut.count, limits.timedOutCalls),
            ("calls", banners.server.inFlight.count, CircuitBreaker.maximumInFlight),
            (
                "banners", banners.count,
                events.undecided.total.count + quietPeriods.snoozes.count + banners.keys.count
                    + banners.server.inFlight.count
            ),
        ]
        for (name, size, limit) in sizes where size > limit { return "\(name): \(size) of \(limit)" }
        return nil
    }

    private var owners: [(name: String, count: Int, owners: Owners)] {
        [
            ("undecided events", events.undecided.total.count, events.undecided),
            ("awaited events", names.awaited.count, names.awaited.owners),
            ("provisional claims", screens.holds.count, screens.holds.owners),
            ("graces", screens.graces.count, screens.graces.owners), ("screens", screens.count, screens.owners),
        ]
    }

    private func tableThatDisagrees() -> String? {
        if events.undecided.total.count != events.all.filter(\.isUndecided).count {
            return "the count of undecided events"
        }
        let bytes = events.all.filter(\.isUndecided).reduce(0) { $0 + $1.event.memoryCost }
        if events.undecided.total.bytes != bytes { return "the bytes of undecided events" }
        for (name, count, owners) in owners {
            let shares = owners.shares.values
            let (sum, bytes) = (shares.reduce(0) { $0 + $1.count }, shares.reduce(0) { $0 + $1.bytes })
            if count != sum || count != owners.total.count { return "\(name) by program: \(sum) of \(count)" }
            if bytes != owners.total.bytes { return "\(name) by program: \(bytes) bytes of \(owners.total.bytes)" }
        }
        if names.values.bytes != names.values.entries.values.reduce(0, { $0 + $1.bytes }) {
            return "the bytes of current values"
        }
        if screens.questions != screens.all.reduce(0, { $0 + $1.asked.count }) { return "the count of questions" }
        let inWindows = events.windows.values.reduce(0) { $0 + $1.unclaimed.count + $1.held.count }
        let behindBanners = banners.all.reduce(0) { $0 + $1.count }
        var counts = (window: 0, banner: 0, questions: 0)
        for tracked in events.all {
            switch tracked.place {
            case .window: counts.window += 1
            case .waiting, .inFlight, .shown: counts.banner += 1
            case .held, .gone, .snoozed: break
            }
            if tracked.isSnoozed != (quietPeriods.snoozes[tracked.event.id] != nil) {
                return "the table of snoozed events"
            }
            counts.questions += tracked.asked.count
            if !tracked.asked.isEmpty, !tracked.isUndecided {
                return "event \(tracked.event.id) is decided and still asked about"
            }
        }
        if counts.window != inWindows { return "windows hold \(inWindows) events, \(counts.window) think they do" }
        if counts.banner != behindBanners { return "banners hold \(behindBanners), \(counts.banner) think they do" }
        let questions = screens.all.reduce(0) { $0 + $1.asked.count }
        if counts.questions != questions { return "screens have \(questions) questions, events \(counts.questions)" }
        let collapsing = events.all.filter { $0.event.collapse != nil }.map(\.event)
        if Set(collapsing.compactMap(\.collapse)).count != names.collapsing.count { return "the table of collapses" }
        for event in collapsing where names.collapsing[event.collapse!] != event.id {
            return "event \(event.id) was not replaced"
        }
        if banners.all.filter({ $0.id != nil }).count != banners.keys.count { return "the numbers of banners" }
        if banners.all.filter({ $0.call != nil }).count != banners.server.inFlight.count {
            return "the calls of banners"
        }
        for key in banners.orderedKeys {
            if let id = banners[existing: key].id, banners.keys[id] != key {
                return "banner \(id) is known as another's"
            }
        }
        return nil
    }

    private func windowThatIsTooLong(_ longest: (Topic) -> Duration, _ lastReplay: Instant?) -> String? {
        for window in events.windows.values {
            if window.deadline > window.limit { return "a window beyond its limit" }
            for id in Array(window.unclaimed) + window.held
            where max(window.opened, lastReplay ?? window.opened) + longest(events[id]!.event.topic)
                < window.deadline
            {
                return "the window of event \(id) is too long"
            }
        }
        return nil
    }

    /// Whatever waits is asked for, as long as the server may be called.
    private func bannerThatIsStuck() -> String? {
        for key in banners.orderedKeys {
            let banner = banners[existing: key]
            if let successor = banner.successor, events[successor]?.window != key,
                !banners.restoredSuccessions.contains(key)
            {
                return "a banner is kept for event \(successor), which has left its window"
            }
            if banner.count == 0, banner.call == nil, banner.successor == nil || banner.id == nil {
                return "a banner of claimed events stays"
            }
            guard banners.server.allowsCall, banner.call == nil, banner.needsCall else { continue }
            if key != .summary || banners.summaryTimer == nil { return "a banner waits for nothing" }
        }
        return nil
    }

    /// What is still there when every event is resolved and everybody has left. Shown events whose banner went away by
    /// itself are kept for late claims.
    func leftovers() -> String? {
        let tables: [(String, Int)] = [
            ("undecided events", events.undecided.total.count),
            ("programs and connections", owners.count { !$0.owners.isEmpty }),
            ("screens", screens.count),
            ("holds", screens.holds.count), ("graces", screens.graces.count),
            ("grace index", screens.graces.index.isEmpty ? 0 : 1),
            ("mutes", quietPeriods.all.count { $0.cause == .muted }),
            ("values", names.values.count),
            ("windows", events.windows.count), ("snoozed events", quietPeriods.snoozes.count),
            ("owed digests", quietPeriods.digests.owed.count), ("replacements", names.replacements.count),
            ("awaited events", names.awaited.count),
            ("banners", banners.count), ("numbers", banners.keys.count), ("calls", banners.server.inFlight.count),
            ("timed-out calls", banners.server.timedOut.count), ("entries", liveEntries),
        ]
        for (name, count) in tables where count > 0 { return "\(count) left in \(name)" }
        for tracked in events.all {
            guard case .gone = tracked.place else { return "event \(tracked.event.id) is still held" }
        }
        return nil
    }
}
