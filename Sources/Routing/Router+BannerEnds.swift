/// The ends of banners: closing them, hearing that they are closed, and keeping what they showed for a late claim.
extension Router {
    mutating func close(_ id: BannerID) {
        forget(id)
        statistics.bannersClosed += 1
        effects.append(.closeBanner(id))
    }

    mutating func bannerClosed(_ id: BannerID, _ reason: ClosingReason) {
        guard let key = bannerKeys[id] else { return }
        guard reason == .dismissed else { return lose(id) }
        for event in banners[key]!.shown.takeAll() {
            decide(events.removeValue(forKey: event)!, Resolution(.dismissed, banner: id))
        }
        forget(id)
    }

    /// The banner went away by itself: a late claim still finds its events.
    mutating func lose(_ id: BannerID) {
        guard let key = bannerKeys[id] else { return }
        for event in banners[key]!.shown.takeAll() { events[event]!.place = .gone(id) }
        forget(id)
    }

    mutating func actionInvoked(_ id: BannerID, _ action: String) {
        guard let key = bannerKeys[id], let newest = banners[key]!.shown.last else { return }
        effects.append(.relayAction(events[newest]!.event, action: action))
    }

    /// The banner that is up although every event behind it is decided otherwise. With a call under way nobody knows yet
    /// which banner that will be: it is looked at again when the answer is there.
    func bannerWithNothingBehind(_ key: CoalescingKey) -> BannerID? {
        guard let banner = banners[key], banner.count == 0, banner.call == nil else { return nil }
        return banner.id
    }

    /// Takes the server's number off the banner, and drops the banner where that was all there was.
    private mutating func forget(_ id: BannerID) {
        guard let key = bannerKeys.removeValue(forKey: id) else { return }
        banners[key]!.id = nil
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
        if banners[key]!.count == 0, banners[key]!.call == nil { forget(id) }
    }
}
