import NotifyText

/// The ends of banners: closed by the router, by the server or by a button. Their events are kept for late claims.
extension Router {
    mutating func close(_ id: BannerID) {
        output.append(.keepBanner(.closed(id)))
        banners.removeNumber(id)
        output.statistics[.bannersClosed] += 1
    }

    mutating func bannerClosed(_ id: BannerID, _ reason: ClosingReason, at now: Now) {
        guard let key = banners.keys[id] else {
            if banners.hasUnknown { output.append(.keepBanner(.gone(id))) }
            return
        }
        let shown = banners[existing: key].shown
        guard shown.contains(where: { events[existing: $0].event.hasButtons }) else {
            guard reason == .dismissed else { return bannerDisappeared(id) }
            dismiss(banners.takeShown(key), banner: id)
            return forgetBanner(id)
        }
        bannerDisappeared(id)
        endActionWait(id)
        let closed = ClosedBanner(
            events: shown, isSummary: key == .summary, isDismissed: reason == .dismissed,
            timer: timers.schedule(.closedBanner(id), at: now.instant + ClosedBanner.actionTimeout))
        banners.keepClosed(id, closed)
    }

    /// - Parameters:
    ///   - action: the pressed button.
    ///   - pressed: the event that the button belongs to; the button is recorded with it.
    private mutating func dismiss(
        _ ids: SortedIDs, banner: BannerID, action: String? = nil, of pressed: EventID? = nil
    ) {
        for id in ids {
            var resolution = Resolution(.dismissed, banner: banner)
            if id == pressed { resolution.action = action }
            decide(forget(existing: id), resolution)
        }
    }

    /// The time in which a button of a closed banner can be reported is over.
    mutating func endActionWait(_ id: BannerID) {
        guard let closed = banners.takeClosed(id), closed.isDismissed else { return }
        dismiss(retractableEvents(closed.events, banner: id), banner: id)
    }

    /// The events of a closed banner that have not been claimed or forgotten since.
    private func retractableEvents(_ ids: SortedIDs, banner: BannerID) -> SortedIDs {
        var gone = SortedIDs()
        for id in ids {
            if case .gone(let number)? = events[id]?.place, number == banner { gone.insert(id) }
        }
        return gone
    }

    /// The banner is no longer up, but not because it was dismissed: late claims still retract its events.
    mutating func bannerDisappeared(_ id: BannerID) {
        guard let key = banners.keys[id] else { return }
        for event in banners.takeShown(key) { move(event, to: .gone(id)) }
        forgetBanner(id)
    }

    /// A button closes its banner unless the route makes it resident. The server may close it too, and may report that
    /// before or after the button.
    mutating func actionInvoked(_ id: BannerID, _ action: String) {
        guard let pressed = event(offering: action, on: id) else { return }
        let event = events[existing: pressed].event
        output.append(.relayAction(event, action: action))
        if let key = banners.keys[id] {
            guard event.appearance.resident != true else { return }
            dismiss(banners.takeShown(key), banner: id, action: action, of: pressed)
            // A call in flight updates the banner for newer events, or closes it when it fails.
            if banners[existing: key].call == nil { close(id) }
        } else if let closed = banners.takeClosed(id) {
            dismiss(retractableEvents(closed.events, banner: id), banner: id, action: action, of: pressed)
        }
    }

    /// Whether the router knows a banner with this number: one that is up, or that was closed a moment ago.
    public func knows(_ id: BannerID) -> Bool { banners.keys[id] != nil || banners.closed(id) != nil }

    /// Whether a banner has this button.
    public func offers(_ action: String, on id: BannerID) -> Bool { event(offering: action, on: id) != nil }

    /// The newest event behind a banner that offers a button.
    private func event(offering action: String, on id: BannerID) -> EventID? {
        let shown: SortedIDs
        let isSummary: Bool
        if let key = banners.keys[id] {
            shown = banners[existing: key].shown
            isSummary = key == .summary
        } else if let closed = banners.closed(id) {
            shown = retractableEvents(closed.events, banner: id)
            isSummary = closed.isSummary
        } else {
            return nil
        }
        // Only a summary of a single event has its buttons.
        guard !isSummary || shown.count == 1 else { return nil }
        return shown.last { events[existing: $0].event.offers(action, firstID: events.firstID) }
    }

    /// Removes the server's number from its banner.
    private mutating func forgetBanner(_ id: BannerID) {
        output.append(.keepBanner(.gone(id)))
        banners.removeNumber(id)
    }

    /// Keeps a shown event for a late claim, and forgets the oldest ones beyond the limits.
    mutating func keepRetractable(_ event: Event) {
        events.keepRetractable(event)
        while let oldest = events.takeOldest(beyond: limits) { forgetEvent(oldest) }
    }

    private mutating func forgetEvent(_ oldest: EventID) {
        guard events.contains(oldest) else { return }
        let tracked = forget(existing: oldest)
        output.statistics[.forgotten] += 1
        guard case .shown(let key, let id) = tracked.place else { return }
        banners.removeShown(oldest, from: key)
        guard banners.emptyBanner(key) != nil else { return }
        banners.forgetNumber(id)
    }
}
