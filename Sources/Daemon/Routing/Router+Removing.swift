import NotifyText

/// Takes events out of memory and out of their places: for claims, for `Withdraw` and `collapse`, and where an event
/// could not be stored.
extension Router {
    /// Removes an event in memory from its place. Its window and its banner stay, even without other events.
    mutating func removeFromPlace(_ id: EventID) -> TrackedEvent {
        let tracked = forget(existing: id)
        screens.forget(id, asked: tracked.asked)
        switch tracked.place {
        case .waiting(let key): banners.stopWaiting(id, in: key)
        case .inFlight(let key): banners.removeInFlight(id, from: key)
        case .shown(let key, _): banners.removeShown(id, from: key)
        case .window, .held, .gone, .snoozed: break
        }
        return tracked
    }

    /// Closes the banner that a removed event was behind, if nothing else is.
    mutating func closeBannerIfEmpty(without tracked: TrackedEvent) {
        guard let key = tracked.banner else { return }
        switch tracked.place {
        case .window: banners.endSuccession(of: tracked.event.id, in: key)
        // What the server shows is claimed or withdrawn, so it does not stay for a successor.
        case .inFlight, .shown: if banners[existing: key].count == 0 { banners.endSuccession(in: key) }
        case .waiting, .held, .gone, .snoozed: break
        }
        if let banner = banners.emptyBanner(key) { close(banner) }
        banners.removeIfUnused(key)
    }

    /// A banner that was kept for an event of a window is not any longer. It is closed if nothing is behind it.
    mutating func endSuccession(in key: CoalescingKey) {
        guard banners[key]?.successor != nil else { return }
        banners.endSuccession(in: key)
        if let banner = banners.emptyBanner(key) { close(banner) }
    }

    // MARK: Events that could not be stored

    mutating func stored(except unstored: [EventID], at now: Now) {
        if !unstored.isEmpty { return dropUnstored(unstored, at: now) }
        names.stored()
        quietPeriods.digests.stored()
    }

    /// Removes events that could not be stored, as if they had never been published. Those they replaced come back
    /// first, so that no banner is closed that shows them.
    private mutating func dropUnstored(_ ids: [EventID], at now: Now) {
        let unstored = Set(ids)
        var windows = restoreReplaced(by: unstored, at: now)
        windows += ids.compactMap { dropUnstored($0) }
        // Windows end after all these events have left them.
        for key in windows { closeWindowIfDone(key, at: now) }
        output.statistics[.published] -= min(UInt64(ids.count), output.statistics[.published])
        output.statistics[.refused] += UInt64(ids.count)
        names.notStored(ids, timers: &timers)
        quietPeriods.digests.notStored(unstored)
        sendBanners(at: now)
    }

    /// If its window has ended in the turn in which it was published, it may already be in flight, or shown by its
    /// publisher.
    ///
    /// - Returns: the window that it was in, if it was in one.
    private mutating func dropUnstored(_ id: EventID) -> CoalescingKey? {
        guard events.contains(id) else { return nil }
        let tracked = removeFromPlace(id)
        closeBannerIfEmpty(without: tracked)
        return tracked.window
    }
}
