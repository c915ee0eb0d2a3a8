/// Claims: rules 3, 4 and 6. A claim names one event. It is in time as long as the event has not gone to the server; after
/// that it retracts.
extension Router {
    mutating func claim(_ id: EventID, by claimant: String, at now: Now) {
        guard let open = events[id] else { return claimWithoutEffect(id) }
        let latency = now.instant - open.accepted
        var resolution = Resolution(.retracted, claimant: claimant, latency: latency)
        var verdict = Verdict.recorded
        var closing: BannerID?
        switch open.place {
        case .window(let key):
            resolution.outcome = .claimed
            verdict = .suppressed
            windows[key]!.claim(id)
            if windows[key]!.unclaimed.isEmpty {
                windows[key] = nil
                agenda.strike(.window(key))
            }
        case .waiting(let key):
            resolution.outcome = .claimed
            verdict = .suppressed
            lifetimes.strike(id)
            banners[key]!.waiting.remove(id)
            dropIfEmpty(key)
        case .carried(let key):
            banners[key]!.carried.remove(id)
            // The call is under way: the banner is closed when the server has said which one it is.
            if banners[key]!.count == 0 { verdict = .retracted }
        case .shown(let key, let banner):
            resolution.banner = banner
            banners[key]!.shown.remove(id)
            if banners[key]!.count == 0 {
                verdict = .retracted
                if banners[key]!.call == nil { closing = banner }
            }
        case .gone(let banner):
            resolution.banner = banner
        }
        if verdict == .recorded { statistics.recordedClaims += 1 }
        effects.append(.reply(.verdict(verdict)))
        decide(id, resolution)
        events[id] = nil
        if let closing { close(closing) }
    }

    private mutating func claimWithoutEffect(_ id: EventID) {
        guard id >= firstID, id < nextID else {
            statistics.refused += 1
            return effects.append(
                .reply(
                    .refused(.unknownEvent("there is no event \(id); ids come from Send, Publish and the signal Event"))
                ))
        }
        statistics.recordedClaims += 1
        effects.append(.reply(.verdict(.recorded)))
    }
}
