/// Provisional claims: held now, to be confirmed in time. The rule for everything that goes wrong with one is: when in
/// doubt, show the banner.
extension Router {
    /// A provisional claim that is waiting for its confirmation.
    struct Hold {
        let claimant: String
        let latency: Duration
        /// Stands for the end of the time to confirm.
        let ticket: WindowClock.Ticket
    }

    mutating func hold(_ id: EventID, for duration: Duration, by claimant: String, at now: Now) {
        guard duration > .zero, duration <= limits.maximumHold else {
            return refuse(
                .limitExceeded(
                    "the time to confirm is \(duration.text); it is 1ms to \(limits.maximumHold.text), in milliseconds")
            )
        }
        guard isKnown(id) else { return refuseUnknown(id) }
        guard let open = events[id], provisional[id] == nil, open.canBeHeld else {
            statistics.recordedClaims += 1
            effects.append(.reply(.verdict(.recorded)))
            return note(.provisional, of: id, by: claimant, .recorded, at: now)
        }
        effects.append(.reply(.verdict(.suppressed)))
        note(.provisional, of: id, by: claimant, .suppressed, at: now)
        switch open.place {
        case .window(let key):
            windows[key]!.hold(id)
        case .waiting(let key):
            events[id]!.expiry = nil
            stopWaiting(id, in: key)
            events[id]!.place = .held(key)
        case .held, .carried, .shown, .gone:
            preconditionFailure("only an event that has not gone to the server can be held")
        }
        provisional[id] = Hold(
            claimant: claimant, latency: now.instant - open.accepted,
            ticket: agenda.put(.hold(id), at: now.instant + duration))
        holds[claimant, default: EventList()].insert(id)
        // The claimant has answered; other screens are still asked, in case the claim comes to nothing.
        for screen in screens.owned(by: claimant) { answered(screen, about: id, at: now) }
        if case .window(let key) = events[id]!.place, windows[key]!.isOverEarly { endWindow(key, at: now) }
        sendBanners(at: now)
    }

    /// No step of a provisional claim but the last decides anything; the record of the event names them all.
    private mutating func note(
        _ step: ClaimForm, of id: EventID, by claimant: String, _ verdict: Verdict, at now: Now
    ) {
        guard let open = events[id] else { return }
        let latency = now.instant - open.accepted
        effects.append(
            .noteClaim(id, ClaimRecord(claimant: claimant, latency: latency, form: step, verdict: verdict)))
    }

    mutating func complete(_ id: EventID, by claimant: String, at now: Now) {
        guard let hold = own(id, claimant) else { return }
        effects.append(.reply(.done))
        note(.completed, of: id, by: claimant, .suppressed, at: now)
        settle(id, by: hold.claimant, as: .provisional, latency: hold.latency, at: now)
        sendBanners(at: now)
    }

    mutating func release(_ id: EventID, by claimant: String, at now: Now) {
        guard own(id, claimant) != nil else { return }
        effects.append(.reply(.done))
        holdFailed(id, .released, at: now)
        sendBanners(at: now)
    }

    /// Out of time, released, or its claimant is gone: the event stands where it would stand without the claim.
    mutating func holdFailed(_ id: EventID, _ step: ClaimForm, at now: Now) {
        note(step, of: id, by: provisional[id]!.claimant, .recorded, at: now)
        dropHold(id)
        switch events[id]!.place {
        case .window(let key):
            windows[key]!.release(id, isAwaited: events[id]!.isAwaited)
            if windows[key]!.isOverEarly { endWindow(key, at: now) }
        case .held(let key):
            events[id]!.deadline = now.instant
            showOrSettle(id, for: key, at: now)
        case .waiting, .carried, .shown, .gone:
            preconditionFailure("a held event does not go to the server")
        }
    }

    mutating func dropHold(_ id: EventID) {
        guard let hold = provisional.removeValue(forKey: id) else { return }
        holds[hold.claimant]!.remove(id)
        if holds[hold.claimant]!.isEmpty { holds[hold.claimant] = nil }
    }

    private mutating func own(_ id: EventID, _ caller: String) -> Hold? {
        guard isKnown(id) else {
            refuseUnknown(id)
            return nil
        }
        guard let hold = provisional[id], hold.claimant == caller else {
            refuse(
                .notClaimant(
                    "you do not hold event \(id); ClaimProvisionally holds it, until it is confirmed or its time is over"
                ))
            return nil
        }
        return hold
    }
}
