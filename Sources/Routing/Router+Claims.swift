/// Claims: rules 3, 4 and 6. A claim names one event. It is in time as long as the event has not gone to the server; after
/// that it retracts.
extension Router {
    mutating func claim(_ id: EventID, by claimant: String, at now: Now) {
        guard isKnown(id) else { return refuseUnknown(id) }
        guard events[id] != nil else {
            statistics.recordedClaims += 1
            return effects.append(.reply(.verdict(.recorded)))
        }
        let verdict = take(id, by: claimant, as: .claim, at: now)
        // The claimant hears of it before everybody else.
        effects.insert(.reply(.verdict(verdict)), at: 0)
        sendBanners(at: now)
    }

    /// Claims an event that is in memory.
    private mutating func take(_ id: EventID, by claimant: String, as form: ClaimForm, at now: Now) -> Verdict {
        settle(id, by: claimant, as: form, latency: now.instant - events[id]!.accepted, at: now)
    }

    /// Claims events at one stroke: the end of a window that the first claim brings about does not decide what the next
    /// one names.
    mutating func takeAll(_ ids: [EventID], by claimant: String, as form: ClaimForm, at now: Now) {
        var shrunk: [CoalescingKey] = []
        for id in ids {
            if case .window(let key) = events[id]!.place { shrunk.append(key) }
            takeOut(id, by: claimant, as: form, latency: now.instant - events[id]!.accepted)
        }
        for key in shrunk { closeIfOver(key, at: now) }
    }

    /// Claims an event, and closes its window if nothing is left to wait for.
    @discardableResult
    mutating func settle(
        _ id: EventID, by claimant: String, as form: ClaimForm, latency: Duration, at now: Now
    ) -> Verdict {
        let place = events[id]!.place
        let verdict = takeOut(id, by: claimant, as: form, latency: latency)
        if case .window(let key) = place { closeIfOver(key, at: now) }
        return verdict
    }

    /// Takes a claimed event out of wherever it is.
    @discardableResult
    private mutating func takeOut(
        _ id: EventID, by claimant: String, as form: ClaimForm, latency: Duration
    ) -> Verdict {
        dropHold(id)
        forgetQuestions(about: id)
        var resolution = Resolution(.retracted, claimant: claimant, latency: latency)
        resolution.form = form
        var verdict = Verdict.recorded
        var closing: BannerID?
        switch events[id]!.place {
        case .window(let key):
            resolution.outcome = .claimed
            // Events that came later may have kept the window open since it was announced.
            events[id]!.deadline = windows[key]!.deadline
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
        decide(id, resolution)
        events[id] = nil
        if let closing { close(closing) }
        return verdict
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
