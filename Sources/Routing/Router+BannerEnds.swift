/// The ends of banners: closing them, hearing that they are closed, and keeping what they showed for a late claim.
extension Router {
    mutating func close(_ id: BannerID) {
        forget(id)
        statistics.bannersClosed += 1
        effects.append(.closeBanner(id))
    }

    mutating func bannerClosed(_ id: BannerID, _ reason: ClosingReason, at now: Now) {
        guard let key = bannerKeys[id] else {
            if hasUnknownBanners { effects.append(.forgetBanner(id)) }
            return
        }
        let shown = banners[key]!.shown
        guard shown.contains(where: { !events[$0]!.event.route.appearance.actions.isEmpty }) else {
            guard reason == .dismissed else { return lose(id) }
            dismiss(banners[key]!.shown.takeAll(), banner: id)
            return forget(id)
        }
        lose(id)
        settleClosedBanner(id)
        closedBanners[id] = ClosedBanner(
            events: shown, isDismissed: reason == .dismissed,
            ticket: agenda.put(.closedBanner(id), at: now.instant + ClosedBanner.patience))
    }

    /// - Parameter action: the button that was pressed, for the event that the banner speaks of.
    private mutating func dismiss(_ ids: EventList, banner: BannerID, action: String? = nil) {
        for id in ids {
            var resolution = Resolution(.dismissed, banner: banner)
            if id == ids.last { resolution.action = action }
            decide(events.removeValue(forKey: id)!, resolution)
        }
    }

    /// No button is awaited of a closed banner any longer.
    mutating func settleClosedBanner(_ id: BannerID) {
        guard let closed = closedBanners.removeValue(forKey: id), closed.isDismissed else { return }
        dismiss(stillGone(closed.events, banner: id), banner: id)
    }

    /// What was shown in a closed banner and has not been claimed or forgotten since.
    private func stillGone(_ ids: EventList, banner: BannerID) -> EventList {
        var gone = EventList()
        for id in ids {
            if case .gone(let number)? = events[id]?.place, number == banner { gone.insert(id) }
        }
        return gone
    }

    /// The banner went away by itself: a late claim still finds its events.
    mutating func lose(_ id: BannerID) {
        guard let key = bannerKeys[id] else { return }
        for event in banners[key]!.shown.takeAll() { events[event]!.place = .gone(id) }
        forget(id)
    }

    /// A button closes its banner, unless the route says that it is resident. Whether the server closes it too, and which of
    /// the two it reports first, makes no difference.
    mutating func actionInvoked(_ id: BannerID, _ action: String) {
        if let key = bannerKeys[id] {
            guard let newest = banners[key]!.shown.last else { return }
            let event = events[newest]!.event
            effects.append(.relayAction(event, action: action))
            guard !event.route.appearance.resident else { return }
            dismiss(banners[key]!.shown.takeAll(), banner: id, action: action)
            // A call under way shows the banner anew, for events that the user has not seen.
            if banners[key]!.call == nil { close(id) } else { forget(id) }
        } else if let closed = closedBanners.removeValue(forKey: id) {
            let gone = stillGone(closed.events, banner: id)
            guard let newest = gone.last else { return }
            effects.append(.relayAction(events[newest]!.event, action: action))
            dismiss(gone, banner: id, action: action)
        }
    }

    /// The banner that is up although every event behind it is decided otherwise. With a call under way nobody knows yet
    /// which banner that will be: it is looked at again when the answer is there.
    func bannerWithNothingBehind(_ key: CoalescingKey) -> BannerID? {
        guard let banner = banners[key], banner.count == 0, banner.call == nil else { return nil }
        return banner.id
    }

    /// Takes the server's number off the banner, and drops the banner where that was all there was.
    private mutating func forget(_ id: BannerID) {
        effects.append(.forgetBanner(id))
        dropNumber(id)
    }

    private mutating func dropNumber(_ id: BannerID) {
        guard let key = bannerKeys.removeValue(forKey: id) else { return }
        banners[key]!.id = nil
        banners[key]!.first = nil
        dropIfEmpty(key)
    }

    mutating func dropIfEmpty(_ key: CoalescingKey) {
        guard let banner = banners[key], banner.count == 0, banner.id == nil, banner.call == nil else { return }
        banners[key] = nil
    }

    /// Keeps a shown event for a late claim, and lets the oldest go when there are too many.
    mutating func remember(_ event: EventID) {
        let bytes = events[event]!.event.footprint
        retractable.append((event, bytes))
        retractableBytes += bytes
        while retractable.count > limits.retractableEvents || retractableBytes > limits.retractableBytes {
            forgetOldestShown()
        }
    }

    private mutating func forgetOldestShown() {
        let (oldest, bytes) = retractable.removeFirst()
        retractableBytes -= bytes
        guard let open = events.removeValue(forKey: oldest) else { return }
        statistics.forgotten += 1
        guard case .shown(let key, let id) = open.place else { return }
        banners[key]!.shown.remove(oldest)
        guard banners[key]!.count == 0, banners[key]!.call == nil else { return }
        // It stays up, and the journal still knows it.
        hasUnknownBanners = true
        dropNumber(id)
    }
}
