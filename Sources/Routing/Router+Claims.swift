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

    /// Claims an event that is held.
    @discardableResult
    mutating func take(_ id: EventID, by claimant: String, as form: ClaimForm, at now: Now) -> Verdict {
        settle(id, by: claimant, as: form, latency: now.instant - events[id]!.accepted, at: now)
    }

    /// Takes a claimed event out of wherever it is.
    @discardableResult
    mutating func settle(
        _ id: EventID, by claimant: String, as form: ClaimForm, latency: Duration, at now: Now
    ) -> Verdict {
        dropHold(id)
        forgetQuestions(about: id)
        var resolution = Resolution(.retracted, claimant: claimant, latency: latency)
        resolution.form = form
        var verdict = Verdict.recorded
        var closing: BannerID?
        var shrunk: CoalescingKey?
        switch events[id]!.place {
        case .window(let key):
            resolution.outcome = .claimed
            windows[key]!.claim(id)
            shrunk = key
        case .held:
            resolution.outcome = .claimed
        case .waiting(let key):
            resolution.outcome = .claimed
            lifetimes.strike(.event(id))
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
        if let shrunk { closeIfOver(shrunk, at: now) }
        return verdict
    }

    /// A window of which every event is claimed closes at once; one that waits only for answers it has closes early.
    private mutating func closeIfOver(_ key: CoalescingKey, at now: Now) {
        if windows[key]!.isDone {
            windows[key] = nil
            agenda.strike(.window(key))
        } else if windows[key]!.isOverEarly {
            endWindow(key, at: now)
        }
    }

    /// Whether the id was given out by this router.
    func isKnown(_ id: EventID) -> Bool {
        id >= firstID && id < nextID
    }

    mutating func refuseUnknown(_ id: EventID) {
        refuse(.unknownEvent("there is no event \(id); ids come from Send, Publish and the signal Event"))
    }
}
