@testable import Routing

/// What must hold in the router's own tables, whatever happens.
extension Router {
    /// - Returns: the promise that is broken, if one is.
    func brokenPromise() -> String? {
        limitThatIsExceeded() ?? tableThatDisagrees() ?? windowThatIsTooLong() ?? bannerThatIsStuck()
    }

    private func limitThatIsExceeded() -> String? {
        let sizes: [(String, Int, Int)] = [
            ("open events", undecided, limits.openEvents),
            ("open events of a sender", undecidedBySender.values.max() ?? 0, limits.openEventsPerSender),
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
        if undecidedBySender.values.reduce(0, +) != undecided { return "the counts of undecided events by sender" }
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
        for (key, banner) in banners where banner.id.map({ bannerKeys[$0] != key }) ?? false {
            return "banner \(banner.id!) is known as another's"
        }
        return nil
    }

    /// An event may ask for a window longer than its route's maximum.
    private func windowThatIsTooLong() -> String? {
        for window in windows.values where window.deadline > window.limit { return "a window beyond its limit" }
        for window in windows.values {
            for id in window.unclaimed.ids + window.held.ids {
                let longest = max(events[id]!.event.route.maximumWindow, .seconds(3))
                if events[id]!.accepted + longest < window.deadline { return "a window longer than \(longest.text)" }
            }
        }
        return nil
    }

    /// Whatever waits is asked for, as long as the server may be called.
    private func bannerThatIsStuck() -> String? {
        for (key, banner) in banners {
            if banner.count == 0, banner.call == nil { return "a banner of claimed events stays" }
            guard gate.isOpen, banner.call == nil, !banner.waiting.isEmpty else { continue }
            if key != .summary || summaryRestsUntil == nil { return "a banner waits for nothing" }
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
            ("overdue calls", overdue.count), ("queue", queue.count), ("agenda", agenda.count),
            ("lifetimes", lifetimes.count),
        ]
        for (name, count) in tables where count > 0 { return "\(count) left in \(name)" }
        for open in events.values {
            guard case .gone = open.place else { return "event \(open.event.id) is still held" }
        }
        return nil
    }
}
