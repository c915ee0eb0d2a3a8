/// Claims: rules 3, 4 and 6. A claim names one event. It is in time as long as the event has not gone to the server; after
/// that it retracts.
extension Router {
    mutating func claim(_ id: EventID, by claimant: String, at now: Now) {
        guard isKnown(id) else { return refuseUnknown(id) }
        guard remembers(id) else {
            statistics.recordedClaims += 1
            return effects.append(.reply(.verdict(.recorded)))
        }
        let verdict = settle(id, by: claimant, as: .claim, at: now)
        // The claimant hears of it before everybody else.
        effects.insert(.reply(.verdict(verdict)), at: 0)
        sendBanners(at: now)
    }

    /// Claims events at one stroke: the end of a window that the first claim brings about does not decide what the next
    /// one names.
    mutating func takeAll(_ ids: [EventID], by claimant: String, as form: ClaimForm, at now: Now) {
        let shrunk = ids.compactMap { takeOut($0, by: claimant, as: form, at: now).window }
        for key in shrunk { closeIfOver(key, at: now) }
    }

    /// Claims an event, and closes its window if nothing is left to wait for.
    ///
    /// - Parameter latency: how long after the event the claim came, where that was not now.
    @discardableResult
    mutating func settle(
        _ id: EventID, by claimant: String, as form: ClaimForm, latency: Duration? = nil, at now: Now
    ) -> Verdict {
        let (verdict, window) = takeOut(id, by: claimant, as: form, latency: latency, at: now)
        if let window { closeIfOver(window, at: now) }
        return verdict
    }

    /// Takes a claimed event out of wherever it is.
    ///
    /// - Returns: the window that it was in, if it was in one.
    private mutating func takeOut(
        _ id: EventID, by claimant: String, as form: ClaimForm, latency: Duration? = nil, at now: Now
    ) -> (verdict: Verdict, window: CoalescingKey?) {
        guard var open = events.removeValue(forKey: id) else {
            preconditionFailure("only an event in memory can be claimed")
        }
        dropHold(id)
        for screen in open.asked { screens.noteAnswered(screen, about: id) }
        var resolution = Resolution(
            .retracted, claimant: claimant, latency: latency ?? (now.instant - open.accepted))
        resolution.form = form
        var verdict = Verdict.recorded
        var window: CoalescingKey?
        var closing: BannerID?
        switch open.place {
        case .window(let key):
            resolution.outcome = .claimed
            window = key
            // Events that came later may have kept the window open since it was announced.
            open.deadline = windows[key]!.deadline
            windows[key]!.claim(id)
        case .held:
            resolution.outcome = .claimed
        case .waiting(let key):
            resolution.outcome = .claimed
            banners[key]!.waiting.remove(id)
            closing = bannerWithNothingBehind(key)
            dropIfEmpty(key)
        case .carried(let key):
            banners[key]!.carried.remove(id)
            // The call is under way: the banner is closed when the server has said which one it is.
            if banners[key]!.count == 0 { verdict = .retracted }
        case .shown(let key, let banner):
            resolution.banner = banner
            banners[key]!.shown.remove(id)
            if banners[key]!.count == 0 { verdict = .retracted }
            closing = bannerWithNothingBehind(key)
        case .gone(let banner):
            resolution.banner = banner
        }
        if resolution.outcome == .claimed { verdict = .suppressed }
        if verdict == .recorded { statistics.recordedClaims += 1 }
        decide(open, resolution)
        if let closing { close(closing) }
        return (verdict, window)
    }

    /// A window of which every event is claimed closes at once; one that waits only for answers it has closes early.
    mutating func closeIfOver(_ key: CoalescingKey, at now: Now) {
        // Of several events that were claimed together, one has closed it already.
        guard let window = windows[key] else { return }
        if window.isDone {
            windows[key] = nil
        } else if window.isOverEarly {
            endWindow(key, at: now)
        }
    }

    /// Whether the id was given out by this router.
    func isKnown(_ id: EventID) -> Bool {
        id >= oldestID && id < nextID
    }

    mutating func refuseUnknown(_ id: EventID) {
        refuse(.unknownEvent("there is no event \(id); ids come from Send, Publish and the signal Event"))
    }
}
