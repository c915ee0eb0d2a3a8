@testable import Routing

/// What must hold in the router's own tables, whatever happens.
extension Router {
    /// - Parameters:
    ///   - longest: how long a window for a topic may be open.
    ///   - lastReplay: when an event of an earlier run was last announced again: such a one keeps its window open for its
    ///     own whole length.
    /// - Returns: the promise that is broken, if one is.
    func brokenPromise(lastReplay: Instant? = nil, longest: (Topic) -> Duration) -> String? {
        limitThatIsExceeded(hasReplayed: lastReplay != nil) ?? tableThatDisagrees() ?? windowThatIsTooLong(
            longest, lastReplay)
            ?? bannerThatIsStuck()
    }

    /// - Parameter hasReplayed: whose events of an earlier run are still to come is not known when something is published:
    ///   a sender may then have more than its own share.
    private func limitThatIsExceeded(hasReplayed: Bool) -> String? {
        let sizes: [(String, Int, Int)] = [
            ("undecided events", undecided, limits.openEvents),
            (
                "undecided events of a sender", undecidedBySender.values.map(\.events).max() ?? 0,
                hasReplayed ? limits.openEvents : limits.openEventsPerSender
            ),
            ("bytes of undecided events", undecidedBytes, limits.openBytes),
            ("bytes of current values", valueBytes, limits.valueBytes),
            ("bytes of shown events", retractableBytes, limits.retractableBytes),
            ("questions", screens.questions, limits.questions + limits.screens),
            ("screens", screens.count, limits.screens),
            ("graces", graces.count, limits.graces),
            ("graces of a connection", gracesByClaimant.values.max() ?? 0, limits.gracesPerConnection),
            ("mutes", mutes.count, limits.mutes), ("values", values.count, limits.values),
            ("shown events", retractable.count, limits.retractableEvents),
            ("events", events.count, limits.openEvents + limits.retractableEvents),
            ("repeats", repeats.count, limits.rememberedRepeats),
            ("overdue calls", overdue.count, limits.overdueCalls),
            ("calls", calls.count, ServerGate.callsAtOnce),
            ("banners", banners.count, undecided + bannerKeys.count + calls.count),
        ]
        for (name, size, limit) in sizes where size > limit { return "\(name): \(size) of \(limit)" }
        return nil
    }

    private func tableThatDisagrees() -> String? {
        if undecided != events.values.filter(\.isUndecided).count { return "the count of undecided events" }
        let bytes = events.values.filter(\.isUndecided).reduce(0) { $0 + $1.event.footprint }
        if undecidedBytes != bytes { return "the bytes of undecided events" }
        if undecidedBySender.values.reduce(0, { $0 + $1.bytes }) != bytes { return "the bytes of events by sender" }
        if retractableBytes != retractable.reduce(0, { $0 + $1.bytes }) { return "the bytes of shown events" }
        if valueBytes != values.values.reduce(0, { $0 + $1.bytes }) { return "the bytes of current values" }
        if screens.questions != screens.all.reduce(0, { $0 + $1.asked.count }) { return "the count of questions" }
        if undecidedBySender.values.reduce(0, { $0 + $1.events }) != undecided {
            return "the counts of undecided events by sender"
        }
        let inWindows = windows.values.reduce(0) { $0 + $1.unclaimed.count + $1.held.count }
        let behindBanners = banners.values.reduce(0) { $0 + $1.count }
        var counts = (window: 0, banner: 0, questions: 0)
        for open in events.values {
            switch open.place {
            case .window: counts.window += 1
            case .waiting, .carried, .shown: counts.banner += 1
            case .held, .gone: break
            }
            counts.questions += open.asked.count
            if !open.asked.isEmpty, !open.isUndecided {
                return "event \(open.event.id) is decided and still asked about"
            }
        }
        if counts.window != inWindows { return "windows hold \(inWindows) events, \(counts.window) think they do" }
        if counts.banner != behindBanners { return "banners hold \(behindBanners), \(counts.banner) think they do" }
        let questions = screens.all.reduce(0) { $0 + $1.asked.count }
        if counts.questions != questions { return "screens have \(questions) questions, events \(counts.questions)" }
        if banners.values.filter({ $0.id != nil }).count != bannerKeys.count { return "the numbers of banners" }
        if banners.values.filter({ $0.call != nil }).count != calls.count { return "the calls of banners" }
        for key in banners.keys {
            if let id = banners[key]!.id, bannerKeys[id] != key { return "banner \(id) is known as another's" }
        }
        return nil
    }

    private func windowThatIsTooLong(_ longest: (Topic) -> Duration, _ lastReplay: Instant?) -> String? {
        for window in windows.values {
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
        for key in banners.keys {
            let banner = banners[key]!
            if banner.count == 0, banner.call == nil { return "a banner of claimed events stays" }
            guard gate.isOpen, banner.call == nil, !banner.waiting.isEmpty else { continue }
            if key != .summary || summaryRest == nil { return "a banner waits for nothing" }
        }
        return nil
    }

    /// What is still there when every event is resolved and everybody has left. Shown events whose banner went away by
    /// itself are kept for late claims.
    func leftovers() -> String? {
        let tables: [(String, Int)] = [
            ("undecided events", undecided), ("senders", undecidedBySender.count), ("screens", screens.count),
            ("holds", holds.count), ("graces", graces.count), ("claimants with graces", gracesByClaimant.count),
            ("grace index", graceIndex.isEmpty ? 0 : 1), ("mutes", mutes.count), ("values", values.count),
            ("windows", windows.count),
            ("banners", banners.count), ("numbers", bannerKeys.count), ("calls", calls.count),
            ("overdue calls", overdue.count), ("entries", standingEntries),
        ]
        for (name, count) in tables where count > 0 { return "\(count) left in \(name)" }
        for open in events.values {
            guard case .gone = open.place else { return "event \(open.event.id) is still held" }
        }
        return nil
    }
}
